#include <algorithm>
#include <array>
#include <utility>

#include "jobs/policy.h"
#include "platform/base/log.h"
#include "schemas/media/speakers.h"
#include "workers/speech/stt_run.h"

// The voices of known speakers: each reference is decoded and described by the local engine, one after the
// other, before the recording is transcribed and, if children transcribed it, before their pieces are joined.
namespace millrace::workers {
namespace {

// Encoders pad the sound.
constexpr double kReferenceSlack = 0.2;

double reference_seconds(const engines::RecordingInfo& info) { return static_cast<double>(info.ms) / 1000; }

bool is_reference_length(double seconds) {
  return seconds >= schemas::kSpeakerReferenceSecondsMin - kReferenceSlack &&
         seconds <= schemas::kSpeakerReferenceSecondsMax + kReferenceSlack;
}

// Other errors are those of the machine or of the operator. kPieceTimeout: it took too much processor time.
bool is_fault_of_reference(const base::Error& error) {
  using base::Code;
  constexpr std::array kCodes{Code::kInvalidField,     Code::kPieceFailed,  Code::kPieceTimeout,
                              Code::kAudioUnsupported, Code::kAudioEmpty,   Code::kAudioDamaged,
                              Code::kAudioTooLong,     Code::kAudioTooLarge};
  return std::ranges::find(kCodes, error.code) != kCodes.end();
}

}  // namespace

void SttRun::find_known_voices(std::function<void()> then) {
  known_speakers_.clear();
  after_known_voices_ = std::move(then);
  find_next_voice();
}

void SttRun::find_next_voice() {
  const std::size_t next = known_speakers_.size();
  if (!tells_speakers() || next == task_.spec.speakers.references.size())
    return std::exchange(after_known_voices_, nullptr)();
  if (!context().may_start()) return end(Abandoned{});
  on_pool(
      Queue::kQuick,
      [uri = task_.spec.speakers.references[next], tenant = job().tenant] {
        return reference_recording(uri, tenant);
      },
      [this](base::Result<std::shared_ptr<const engines::Recording>> reference) {
        open_reference(std::move(reference));
      });
}

void SttRun::open_reference(base::Result<std::shared_ptr<const engines::Recording>> reference) {
  if (!reference && jobs::is_local_limit(reference.error()))
    return retry_later([this] { find_next_voice(); });
  if (!reference) return reference_failed(reference.error());
  auto begun = cancel_of(transcribers_.local.inspect(
      *reference, recognition_.piece_ms_max(),
      [this, self = shared_from_this(), opened = *reference](base::Result<engines::RecordingInfo> info) {
        post([this, opened, info = std::move(info)] { find_voice(opened, info); });
      }));
  if (!begun) return retry_later([this] { find_next_voice(); });
  set_cancel(std::move(*begun));
}

void SttRun::find_voice(const std::shared_ptr<const engines::Recording>& reference,
                        const base::Result<engines::RecordingInfo>& info) {
  clear_cancel();
  if (!is_running()) return;
  if (!info && info.error().code == base::Code::kJobCancelled) return end(Abandoned{});
  if (!info && info.error().message == engines::kDecoderCrashed) return reference_crashed();
  if (!info) return reference_failed(info.error());
  if (!is_reference_length(reference_seconds(*info)))
    return fail_reference("a speaker's recording should be 2 to 10 seconds long");
  engines::Recognition how = recognition_;
  how.options.speakers = engines::SpeakerTask::kOneVoice;
  auto found = std::make_shared<engines::PieceOutcome>();
  auto begun = cancel_of(transcribers_.local.transcribe(
      reference, std::move(how), {{0, 0, info->ms}},
      [found](engines::PieceOutcome outcome) { *found = std::move(outcome); },
      [this, self = shared_from_this(), found](engines::EngineResult ended) {
        post([this, ended = std::move(ended), found] { voice_found(ended, found); });
      }));
  if (!begun) return retry_later([this] { find_next_voice(); });
  set_cancel(std::move(*begun));
}

void SttRun::voice_found(const engines::EngineResult& ended,
                         const std::shared_ptr<engines::PieceOutcome>& found) {
  using Kind = engines::EngineResult::Kind;
  clear_cancel();
  if (!is_running()) return;
  if (ended.kind == Kind::kCancelled) return end(Abandoned{});
  if (ended.kind == Kind::kCrashed) return reference_crashed();
  if (ended.kind == Kind::kFailed)
    return fail(
        engine_error(ended.error.value_or(base::error(base::Code::kInternal, "the local engine failed"))));
  if (found->piece.error) return reference_failed(*found->piece.error);
  if (found->piece.voices.empty()) return fail_reference("there is no speech in it");
  add_known_speaker(std::move(found->piece.voices.front().embedding));
}

void SttRun::add_known_speaker(std::vector<float> embedding) {
  known_speakers_.push_back({task_.spec.speakers.names[known_speakers_.size()], std::move(embedding)});
  find_next_voice();
}

std::string SttRun::reference_field() const {
  return std::string(schemas::kKnownSpeakerReferences) + "[" + std::to_string(known_speakers_.size()) + "]";
}

void SttRun::fail_reference(const std::string& what) {
  fail(base::error(base::Code::kInvalidField, reference_field() + " cannot be used: " + what,
                   std::string(schemas::kKnownSpeakerReferences)));
}

void SttRun::reference_failed(const base::Error& error) {
  if (is_fault_of_reference(error)) return fail_reference(error.message);
  fail(engine_error(error));
}

// The last allowed crash does not make the job a poison job: it fails with the reference's index. If the
// recording is already transcribed, only the name is missing.
void SttRun::reference_crashed() {
  const std::string crashed = "it crashed the engine";
  log_job(base::LogLevel::kWarn, "speaker_reference_crashed", job(),
          {{"reference", known_speakers_.size()}, {"crashes", job().crashes + 1}});
  if (job().crashes + 1 < jobs::kCrashesMax)
    return end(Retry{base::error(base::Code::kInternal, reference_field() + ": " + crashed), true});
  if (!job().children_done) return fail_reference(crashed);
  names_warning_ += (names_warning_.empty() ? "" : "; ") + reference_field() + " cannot be used: " + crashed +
                    "; nobody has the name " + task_.spec.speakers.names[known_speakers_.size()];
  add_known_speaker({});
}

}  // namespace millrace::workers
