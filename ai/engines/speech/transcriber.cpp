#include "ai/engines/speech/transcriber.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <string>

#include "ai/engines/pool/engine_call.h"

namespace millrace::engines {
namespace {

using base::Code;
using std::chrono::milliseconds;
using RecordingPtr = std::shared_ptr<const Recording>;

constexpr milliseconds kBusyWait{30'000};

// Our own time limit was exceeded: the job waits without using up an attempt.
base::Error busy(const std::string& what) {
  base::Error error = base::error(Code::kOverloaded, what + " takes too long: the machine is busy");
  error.retry_after = kBusyWait;
  return error;
}

bool open_recording(EngineChild& child, const RecordingPtr& recording) {
  Request opening;
  opening.kind = Request::Kind::kOpenRecording;
  opening.format = recording->format();
  opening.size_bytes = recording->size_bytes();
  return child.open(recording, opening, recording->fd());
}

// Whether the pieces are consecutive, cover the recording, and are none too long.
bool sound(const RecordingInfo& info, milliseconds length_max, std::int64_t piece_ms_max) {
  if (info.ms <= 0 || milliseconds(info.ms) > length_max) return false;
  std::int64_t at = 0;
  int index = 0;
  for (const schemas::AudioPiece& piece : info.pieces) {
    if (piece.index != index++ || piece.start_ms != at || piece.end_ms <= at) return false;
    if (piece.end_ms - at > piece_ms_max) return false;
    at = piece.end_ms;
  }
  return info.pieces.empty() || at == info.ms;
}

class InspectRecordingCall final : public SingleResultCall<RecordingInfo> {
 public:
  InspectRecordingCall(const EngineLimits& limits, RecordingPtr recording, std::int64_t piece_ms_max,
                       Done done)
      : SingleResultCall(recording->owner(), std::move(done)),
        limits_(limits),
        piece_ms_max_(piece_ms_max),
        recording_(std::move(recording)) {}

  bool send_request(EngineChild& child) override {
    Request request;
    request.kind = Request::Kind::kListen;
    request.piece_ms_max = piece_ms_max_;
    return open_recording(child, recording_) && child.send(request);
  }
  milliseconds time_limit() const override { return limits_.piece_wall; }
  Place place() const override { return {-1, schemas::name(recording_->format())}; }
  // Bombs hit the CPU limit. If only the wall-clock limit is hit, the machine is busy.
  std::optional<EngineResult> on_limit_hit(LimitHit why) override {
    if (why == LimitHit::kByClock) return failed(busy("decoding the recording"));
    return failed(
        base::error(Code::kAudioDamaged, "decoding the recording exceeds the limit of processor time"));
  }

 private:
  base::Error crash_error() const override {
    return base::error(Code::kInternal, std::string(kDecoderCrashed));
  }
  std::optional<RecordingInfo> answer_in(Event event) const override {
    const bool is_one = event.kind == Event::Kind::kRecording;
    if (!is_one || !sound(event.recording, limits_.recording_max, piece_ms_max_)) return std::nullopt;
    return std::move(event.recording);
  }

  const EngineLimits& limits_;
  const std::int64_t piece_ms_max_;
  RecordingPtr recording_;
};

std::set<int> indexes(const std::map<int, schemas::AudioPiece>& pieces) {
  std::set<int> all;
  for (const auto& [index, piece] : pieces) all.insert(index);
  return all;
}

std::map<int, schemas::AudioPiece> by_index(std::vector<schemas::AudioPiece> pieces) {
  std::map<int, schemas::AudioPiece> all;
  for (schemas::AudioPiece& piece : pieces) all.emplace(piece.index, piece);
  return all;
}

class TranscribeCall final : public PartsCall {
 public:
  TranscribeCall(const EngineLimits& limits, RecordingPtr recording, Recognition how,
                 std::map<int, schemas::AudioPiece> pieces, std::function<void(PieceOutcome)> on_piece,
                 std::function<void(EngineResult)> done)
      : PartsCall(recording->owner(), indexes(pieces), std::move(done)),
        limits_(limits),
        recording_(std::move(recording)),
        how_(std::move(how)),
        pieces_(std::move(pieces)),
        on_piece_(std::move(on_piece)) {}

  bool send_request(EngineChild& child) override {
    Request request;
    request.kind = Request::Kind::kTranscribe;
    for (const int index : left()) request.pieces.push_back(pieces_.at(index));
    request.with_model = how_.has_text_model();
    request.options = how_.options;
    if (how_.model && !child.open_model(how_.model)) return false;
    return open_recording(child, recording_) && child.send(request);
  }
  milliseconds time_limit() const override { return limits_.piece_wall; }
  Place place() const override { return {suspect_part(), schemas::name(recording_->format())}; }

 private:
  std::optional<int> part_in(const Event& event) const override {
    if (event.kind != Event::Kind::kPiece) return std::nullopt;
    return event.piece.index;
  }
  void report(Event event) override {
    event.piece.cpu = event.cpu;
    on_piece_(std::move(event.piece));
  }
  milliseconds cpu_max(int index) const override {
    const schemas::AudioPiece& piece = pieces_.at(index);
    return limits_.piece_cpu(milliseconds(piece.end_ms - piece.start_ms));
  }
  base::Error stuck_error(int index, LimitHit why) const override {
    using std::chrono::seconds;
    const bool late = why == LimitHit::kByClock;
    if (late && how_.options.speakers == SpeakerTask::kOneVoice)
      return busy("finding the voice of a known speaker");
    const milliseconds bound = late ? limits_.piece_wall : cpu_max(index);
    return base::error(Code::kPieceTimeout, "the piece takes more than " +
                                                std::to_string(std::chrono::ceil<seconds>(bound).count()) +
                                                (late ? " s: the machine is busy" : " s of processor time"));
  }
  void report_failed(int index, base::Error error, milliseconds cpu) override {
    PieceOutcome outcome;
    outcome.index = index;
    outcome.cpu = cpu;
    outcome.piece.error = std::move(error);
    on_piece_(std::move(outcome));
  }

  const EngineLimits& limits_;
  RecordingPtr recording_;
  const Recognition how_;
  const std::map<int, schemas::AudioPiece> pieces_;
  std::function<void(PieceOutcome)> on_piece_;
};

}  // namespace

namespace {

bool is_for_speakers(const SpeechFile& file) {
  return file.role == kSegmentationRole || file.role == kEmbeddingRole;
}

// Where to look for the cause, unless `error` says it.
std::string place_of(const base::Error& error, const Recognition& how) {
  const auto is_named = [&](const std::string& path) {
    return error.message.find(path) != std::string::npos;
  };
  const bool of_speakers = is_fault_of_speaker_files(error, how);
  std::string files, folder;
  for (const SpeechFile& file : how.model->files()) {
    if (is_for_speakers(file) != of_speakers) continue;
    if (of_speakers && is_named(file.path)) return {};
    files += (files.empty() ? "" : " and ") + file.path;
    folder = std::filesystem::path(file.path).parent_path().string();
  }
  if (of_speakers) return "; their files are " + files;
  return folder.empty() || is_named(folder) ? std::string() : "; its files are in " + folder;
}

}  // namespace

bool is_fault_of_speaker_files(const base::Error& error, const Recognition& how) {
  const auto is_named = [&](const std::string& text) {
    return error.message.find(text) != std::string::npos;
  };
  if (!how.model) return false;
  return std::ranges::any_of(how.model->files(), [&](const SpeechFile& file) {
    return is_for_speakers(file) && (is_named(std::string(kSpeakersSetting)) || is_named(file.path));
  });
}

std::string explained(const base::Error& error, const Recognition& how) {
  std::string text = error.message;
  if (how.model) text += place_of(error, how);
  if (!error.details.empty()) text += "; the engine reports: " + error.details;
  return text;
}

base::Result<EngineCallHandle> Transcriber::inspect(std::shared_ptr<const Recording> recording,
                                                    std::int64_t piece_ms_max,
                                                    std::function<void(base::Result<RecordingInfo>)> done) {
  return pool_->submit(std::make_shared<InspectRecordingCall>(pool_->limits(), std::move(recording),
                                                              piece_ms_max, std::move(done)));
}

base::Result<EngineCallHandle> Transcriber::transcribe(std::shared_ptr<const Recording> recording,
                                                       Recognition how,
                                                       std::vector<schemas::AudioPiece> pieces,
                                                       std::function<void(PieceOutcome)> on_piece,
                                                       std::function<void(EngineResult)> done) {
  return pool_->submit(std::make_shared<TranscribeCall>(pool_->limits(), std::move(recording), std::move(how),
                                                        by_index(std::move(pieces)), std::move(on_piece),
                                                        std::move(done)));
}

}  // namespace millrace::engines
