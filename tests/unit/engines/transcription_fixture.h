#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ai/engines/speech/transcriber.h"
#include "tests/unit/engines/pool_fixture.h"
#include "tests/unit/engines/real_recordings.h"

namespace millrace::engines::testing {

struct TranscriptionRun : InfoProbe<RecordingInfo> {
  std::map<int, schemas::TranscriptPiece> pieces;

  std::function<void(PieceOutcome)> on_piece() {
    return [this](PieceOutcome outcome) {
      const std::lock_guard lock(mutex);
      EXPECT_FALSE(end) << "a piece after the end";
      EXPECT_TRUE(pieces.emplace(outcome.index, std::move(outcome.piece)).second)
          << "a piece was reported twice";
      changed.notify_all();
    };
  }
};

class TranscriberTest : public PoolTest {
 protected:
  void make(EnginePool::Options options = engine_options()) {
    make_pool(std::move(options));
    transcriber_ = std::make_unique<Transcriber>(*pool_);
  }
  void make(EnginePool::Options options, process::Confinement form) {
    make_pool(std::move(options), form);
    transcriber_ = std::make_unique<Transcriber>(*pool_);
  }
  base::Result<RecordingInfo> inspect(const std::string& bytes) {
    auto recording = recording_of(bytes);
    if (!recording) return recording.error();
    TranscriptionRun run;
    EXPECT_TRUE(transcriber_->inspect(*recording, how_.piece_ms_max(), run.on_info()));
    if (!run.wait([&] { return run.info.has_value(); }))
      return base::error(base::Code::kInternal, "the engine did not answer within kCallTimeLimit");
    return std::move(*run.info);
  }
  base::Code inspect_error(const std::string& bytes) {
    const auto info = inspect(bytes);
    return info ? base::Code::kInternal : info.error().code;
  }
  std::string reported_in(const std::string& bytes) {
    auto info = inspect(bytes);
    if (!info) return info.error().message;
    TranscriptionRun run;
    EXPECT_TRUE(
        transcriber_->transcribe(*recording_of(bytes), how_, info->pieces, run.on_piece(), run.on_end()));
    const EngineResult end = run.wait_end();
    EXPECT_EQ(end.kind, EngineResult::Kind::kDone) << (end.error ? end.error->message : std::string());
    std::vector<schemas::TranscriptPiece> pieces;
    for (auto& [index, piece] : run.pieces) pieces.push_back(std::move(piece));
    return schemas::join(pieces, "english", std::nullopt).text;
  }
  // Eight pieces of one second each.
  static std::vector<schemas::AudioPiece> seconds() {
    std::vector<schemas::AudioPiece> pieces;
    for (int i = 0; i < 8; ++i) pieces.push_back({i, i * 1'000, (i + 1) * 1'000});
    return pieces;
  }

  // The same pieces, but the second is a minute long. Once the first is transcribed, the child stays at the
  // second, so a test can interrupt it there even if the test is late by seconds.
  static std::vector<schemas::AudioPiece> seconds_with_a_minute() {
    auto pieces = seconds();
    pieces[1].end_ms = pieces[1].start_ms + 60'000;
    return pieces;
  }

  Recognition how_;  // PocketSphinx
  std::unique_ptr<Transcriber> transcriber_;
};

}  // namespace millrace::engines::testing
