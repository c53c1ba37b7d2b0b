#include "tests/unit/workers/stt_fixture.h"

#include <stdexcept>

#include "storage/blobs/blobs.h"

namespace millrace::workers {

using engines::EngineCallHandle;
using engines::EngineResult;

namespace {

constexpr std::int64_t kPieceMs = 30'000;
constexpr std::string_view kRecordingText("RIFF\x24\x00\x00\x00WAVEfmt ", 16);

schemas::TranscriptPiece spoken(const schemas::AudioPiece& piece) {
  schemas::TranscriptSegment segment;
  segment.start = static_cast<double>(piece.start_ms) / 1000;
  segment.end = static_cast<double>(piece.end_ms) / 1000;
  segment.text = "Piece " + std::to_string(piece.index);
  return {{segment}, {{"Piece", segment.start, segment.end}}, std::nullopt};
}

class DyingRunner final : public Runner {
 public:
  DyingRunner(std::unique_ptr<Runner> inner, int deaths) : inner_(std::move(inner)), deaths_(deaths) {}

  std::shared_ptr<Run> start(const storage::ClaimedJob& job, AttemptContext& context, Ended ended) override {
    if (deaths_-- <= 0) return inner_->start(job, context, std::move(ended));
    return inner_->start(job, context, [ended = std::move(ended)](const Outcome&) {
      ended(Retry{base::error(base::Code::kInternal, "the worker died"), true});
    });
  }

 private:
  std::unique_ptr<Runner> inner_;
  int deaths_;
};

}  // namespace

base::Result<engines::EngineCallHandle> ScriptedListener::inspect(
    std::shared_ptr<const engines::Recording> recording, std::int64_t,
    std::function<void(base::Result<engines::RecordingInfo>)> done) {
  if (recording->size_bytes() > kRecordingText.size()) {
    if (reference_refused) {
      done(*reference_refused);
      return EngineCallHandle([] {});
    }
    done(engines::RecordingInfo{reference_ms, {{0, 0, reference_ms}}});
    return EngineCallHandle([] {});
  }
  if (refuses) {
    done(*refuses);
    return EngineCallHandle([] {});
  }
  engines::RecordingInfo info;
  info.ms = pieces * kPieceMs;
  for (int i = 0; i < pieces; ++i) info.pieces.push_back({i, i * kPieceMs, (i + 1) * kPieceMs});
  done(std::move(info));
  return EngineCallHandle([] {});
}

base::Result<engines::EngineCallHandle> ScriptedListener::transcribe(
    std::shared_ptr<const engines::Recording>, engines::Recognition how,
    std::vector<schemas::AudioPiece> wanted, std::function<void(engines::PieceOutcome)> on_piece,
    std::function<void(EngineResult)> done) {
  if (how.options.speakers == engines::SpeakerTask::kOneVoice) {
    int call = 0;
    {
      const std::lock_guard lock(mutex_);
      call = reference_calls_++;
    }
    if (call >= reference_crashes_from && call < reference_crashes_from + reference_crashes) {
      done({EngineResult::Kind::kCrashed, 0, std::nullopt});
      return EngineCallHandle([] {});
    }
    schemas::TranscriptPiece piece{{}, {}, reference_fails};
    if (!known_voice.empty()) piece.voices.push_back({known_voice, 5});
    on_piece({0, std::move(piece)});
    done({EngineResult::Kind::kDone, -1, std::nullopt});
    return EngineCallHandle([] {});
  }
  {
    const std::lock_guard lock(mutex_);
    ++calls_;
  }
  const EngineCallHandle until_cancelled([done] {
    done({EngineResult::Kind::kCancelled, -1, std::nullopt});
  });
  if (hangs) return until_cancelled;
  for (const schemas::AudioPiece& piece : wanted) {
    if (piece.index == hangs_at) return until_cancelled;
    {
      const std::lock_guard lock(mutex_);
      ++heard_[piece.index];
    }
    if (killers.contains(piece.index)) {
      done({EngineResult::Kind::kCrashed, piece.index, std::nullopt});
      return EngineCallHandle([] {});
    }
    const auto failed = failing.find(piece.index);
    auto made = failed == failing.end() ? spoken(piece) : schemas::TranscriptPiece{{}, {}, failed->second};
    if (const auto detected = languages.find(piece.index); detected != languages.end())
      made.language = detected->second;
    const auto voice = voices.find(piece.index);
    if (how.options.speakers == engines::SpeakerTask::kTellApart && voice != voices.end()) {
      made.voices.push_back({voice->second, 20});
      made.segments.front().voice = 0;
    }
    on_piece({piece.index, std::move(made)});
  }
  done({EngineResult::Kind::kDone, -1, std::nullopt});
  return EngineCallHandle([] {});
}

int ScriptedListener::times_transcribed(int piece) const {
  const std::lock_guard lock(mutex_);
  const auto found = heard_.find(piece);
  return found == heard_.end() ? 0 : found->second;
}

int ScriptedListener::reference_calls() const {
  const std::lock_guard lock(mutex_);
  return reference_calls_;
}

int ScriptedListener::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

SttFixture::SttFixture(std::function<void(ScriptedListener&)> prepare, SttRunner::Options runner_options,
                       std::unique_ptr<ProviderTranscriber> remote, int deaths)
    : listener(std::make_unique<ScriptedListener>()),
      fixture(WorkerFixture::Options{.with_worker = false, .with_maintenance = true}) {
  if (prepare) prepare(*listener);
  fixture.worker = fixture.bare_worker();
  auto runner = std::make_unique<SttRunner>(*listener, runner_options, std::move(remote));
  fixture.worker->add(schemas::Kind::kStt, {fixture.options.slots},
                      std::make_unique<DyingRunner>(std::move(runner), deaths));
  fixture.worker->start();
}

schemas::JobId SttFixture::submit(schemas::TranscriptionSpec spec) {
  if (spec.model.empty()) spec.model = schemas::kSphinxModel;
  auto staged = storage::stage(fixture.store->blobs(), std::string(kRecordingText));
  if (!staged) throw std::runtime_error(staged.error().message);
  storage::Submission order;
  order.id = fixture.submitter->new_id(schemas::Kind::kStt);
  order.model = spec.model;
  order.spec = schemas::to_json(spec);
  order.input = *std::move(staged);
  return fixture.submit(std::move(order));
}

schemas::StoredTranscript SttFixture::transcript(const schemas::JobId& job) {
  const auto text = fixture.result_text(job);
  return text ? schemas::stored_transcript(*text).value() : schemas::StoredTranscript{};
}

}  // namespace millrace::workers
