#include "workers/speech/stt_run.h"

#include <algorithm>
#include <utility>

#include "ai/inference/media/media.h"
#include "jobs/policy.h"
#include "platform/base/log.h"
#include "schemas/machines/execution.h"

namespace millrace::workers {
namespace {

constexpr int kWhole = 0;  // the only piece of a recording that a provider's model transcribes

// Each share decodes the recording from its beginning to its last piece: on average, half of it. For a
// recording of four hours, 32 shares decode 64 hours in total, about two minutes of processor time.
constexpr int kSharesMax = 32;

int shares_of(int pieces, const SttRunner::Options& options) {
  const int range = std::max(options.range_pieces, pieces / kSharesMax);
  const int needed = (pieces + range - 1) / range;
  return std::max(needed, std::min(pieces, options.shares_min));
}

constexpr double kMsPerSecond = 1000;

double length_of(const engines::RecordingInfo& info) { return static_cast<double>(info.ms) / kMsPerSecond; }

}  // namespace

SttRun::SttRun(storage::ClaimedJob job, AttemptContext& context, SttTranscribers transcribers,
               SttRunner::Options options, Runner::Ended ended)
    : PartitionedRun("stt", std::move(job), context, std::move(ended)),
      transcribers_(transcribers),
      options_(options) {}

void SttRun::open() {
  on_pool(
      Queue::kQuick, [&store = context().store(), this] { return open_recording_task(store, job()); },
      [this](base::Result<SttTask> task) { opened(std::move(task)); });
}

void SttRun::opened(base::Result<SttTask> task) {
  if (!task && jobs::is_local_limit(task.error())) return read_input_later(task.error(), [this] { open(); });
  if (!task) return fail(task.error());
  task_ = std::move(*task);
  const bool has_references = tells_speakers() && !task_.spec.speakers.references.empty();
  if (job().children_done && !has_references) return merge_parts();
  if (const auto chosen = choose_model(); !chosen) return fail(chosen.error());
  if (job().children_done) return find_known_voices([this] { merge_parts(); });
  if (task_.spec.is_share()) {
    limit_time(task_.spec.recording_ms);
    return start_transcription(task_.spec.pieces);
  }
  if (task_.spec.by_provider && job().has_budget) return find_length();
  if (task_.spec.by_provider) return transcribe_remotely();
  find_known_voices([this] { inspect(); });
}

// Without the files of stt.speakers.
bool SttRun::is_text_model_usable() const {
  return tells_speakers() && options_.local_model(task_.spec.local_model, false).has_value();
}

base::Status SttRun::choose_model() {
  if (task_.spec.by_provider) return {};
  if (options_.local_model) {
    auto recognition = options_.local_model(task_.spec.local_model, tells_speakers());
    if (!recognition && recognition.error().code == base::Code::kInternal)
      return model_unusable(recognition.error(), is_text_model_usable());
    if (!recognition) return std::move(recognition.error());
    recognition_ = *std::move(recognition);
  }
  if (!task_.spec.language.empty()) recognition_.options.language = task_.spec.language;
  if (tells_speakers()) recognition_.options.speakers = engines::SpeakerTask::kTellApart;
  // English is not translated.
  recognition_.options.translate = task_.spec.style.translate && recognition_.options.language != "en";
  return {};
}

void SttRun::inspect() {
  if (!context().may_start()) return end(Abandoned{});
  auto begun = cancel_of(transcribers_.local.inspect(
      task_.recording, recognition_.piece_ms_max(),
      [this, self = shared_from_this()](base::Result<engines::RecordingInfo> info) {
        post([this, info = std::move(info)] { inspected(info); });
      }));
  if (!begun) return retry_later([this] { inspect(); });
  set_cancel(std::move(*begun));
}

void SttRun::inspected(base::Result<engines::RecordingInfo> info) {
  clear_cancel();
  if (!is_running()) return;
  if (!info && info.error().code == base::Code::kJobCancelled)
    return end(Abandoned{});  // the engine shuts down
  if (!info) return fail(info.error());
  seconds_ = length_of(*info);
  const auto count = static_cast<int>(info->pieces.size());
  if (const int shares = shares_of(count, options_); shares > 1) {
    const base::WallTime now = context().store().clock().wall();
    return end(Split{piece_shares(task_.spec, *info, shares, now), count});
  }
  context().set_progress_total(count, [](bool) {});
  limit_time(info->ms);
  start_transcription(info->pieces);
}

// Speech needs half of its length; speech that is too fast to be understood, which is read up to three times,
// needs 2.3 times its length.
void SttRun::limit_time(std::int64_t recording_ms) {
  constexpr int kTimesLength = 3;
  limit_engine_time(options_.engine_time + kTimesLength * std::chrono::milliseconds(recording_ms),
                    task_.engine_time);
}

double SttRun::part_price(int piece) const {
  const auto found = pieces_.find(piece);
  if (task_.spec.by_provider || !options_.second_price || found == pieces_.end()) return 0;
  const auto ms = static_cast<double>(found->second.end_ms - found->second.start_ms);
  return options_.second_price(task_.spec.local_model) * ms / kMsPerSecond;
}

void SttRun::start_transcription(const std::vector<schemas::AudioPiece>& pieces) {
  std::vector<int> indexes;
  for (const schemas::AudioPiece& piece : pieces) {
    pieces_.emplace(piece.index, piece);
    indexes.push_back(piece.index);
  }
  set_remaining_parts(indexes, task_.finished);
  process_remaining_parts();
}

base::Result<PartitionedRun::Cancel> SttRun::recognise(std::vector<int> pieces) {
  std::vector<schemas::AudioPiece> places;
  places.reserve(pieces.size());
  for (const int piece : pieces) places.push_back(pieces_.at(piece));
  const auto on_piece = [this, self = shared_from_this()](const engines::PieceOutcome& outcome) {
    const bool good = !outcome.piece.error;
    if (!good && !outcome.piece.error->details.empty())
      log_job(base::LogLevel::kWarn, "speech_piece_failed", job(),
              {{"piece", outcome.index}, {"reason", engines::explained(*outcome.piece.error, recognition_)}});
    if (outcome.voices_error)
      log_job(
          base::LogLevel::kWarn, "speech_voices_not_found", job(),
          {{"piece", outcome.index}, {"reason", engines::explained(*outcome.voices_error, recognition_)}});
    post([this, index = outcome.index, json = schemas::to_json(outcome.piece), good, cpu = outcome.cpu] {
      on_part(index, json, good, cpu);
    });
  };
  return cancel_of(
      transcribers_.local.transcribe(task_.recording, recognition_, std::move(places), on_piece, on_end()));
}

// The price of a call follows from the length. If that stays unknown, the longest possible one counts.
void SttRun::find_length() {
  auto begun = cancel_of(transcribers_.local.inspect(
      task_.recording, recognition_.piece_ms_max(),
      [this, self = shared_from_this()](const base::Result<engines::RecordingInfo>& info) {
        post([this, info] {
          clear_cancel();
          if (!is_running()) return;
          if (info) seconds_ = length_of(*info);
          transcribe_remotely();
        });
      }));
  if (!begun) return retry_later([this] { find_length(); });
  set_cancel(std::move(*begun));
}

void SttRun::transcribe_remotely() {
  pieces_.emplace(kWhole, schemas::AudioPiece{});
  set_remaining_parts({kWhole}, task_.finished);
  context().set_progress_total(1, [](bool) {});
  if (!task_.finished.empty()) return merge_parts();  // an earlier attempt has stored the transcript
  request_remote_pages();
}

void SttRun::request_remote_pages() {
  if (transcribers_.remote == nullptr) return fail(no_remote_model(task_.spec.model));
  if (!context().may_start()) return end(Abandoned{});
  set_cancel(transcribers_.remote->transcribe(
      task_.spec, job().tenant, task_.recording, seconds_.value_or(providers::kRecordingSecondsMax),
      billing(), [this, self = shared_from_this()](base::Result<schemas::Transcript> transcript) {
        post([this, transcript = std::move(transcript)] { answered(transcript); });
      }));
}

void SttRun::answered(base::Result<schemas::Transcript> transcript) {
  clear_cancel();
  if (!is_running()) return;
  if (!transcript && transcript.error().code == base::Code::kJobCancelled)
    return end(Abandoned{});  // the models shut down
  if (!transcript) return fail(transcript.error());
  whole_ = std::make_shared<schemas::Transcript>(*std::move(transcript));
  if (whole_->seconds) return store_whole();
  measure();
}

// The provider did not return the recording's length. It is no error if the length stays unknown.
void SttRun::measure() {
  auto begun = cancel_of(transcribers_.local.inspect(
      task_.recording, recognition_.piece_ms_max(),
      [this, self = shared_from_this()](const base::Result<engines::RecordingInfo>& info) {
        post([this, info] { measured(info); });
      }));
  if (!begun) return store_whole();
  set_cancel(std::move(*begun));
}

void SttRun::measured(const base::Result<engines::RecordingInfo>& info) {
  clear_cancel();
  if (!is_running()) return;
  if (info) whole_->seconds = length_of(*info);
  store_whole();
}

void SttRun::store_whole() {
  on_pool(
      Queue::kLarge,
      [whole = whole_]() -> base::Result<std::string> { return schemas::to_json(whole_piece(*whole)); },
      [this](const base::Result<std::string>& json) {
        if (!json) return fail(json.error());
        add_used({.audio_ms = static_cast<std::int64_t>(whole_->seconds.value_or(0) * kMsPerSecond)});
        on_part(kWhole, *json, true, {});
        flush_then([this] { merge_parts(); });
      });
}

// A child's result is its stored pieces; a root job assembles the transcript from all parts.
void SttRun::merge_parts() {
  if (is_child()) return end(Succeeded{});
  if (whole_) {
    return on_pool(
        Queue::kLarge,
        [&store = context().store(), whole = whole_, style = task_.spec.style] {
          return whole_transcript(store, *whole, style);
        },
        [this](base::Result<Transcribed> ended) { concluded(std::move(ended)); });
  }
  TranscriptPlan plan{task_.spec,     {}, job().children_done, schemas::spoken_language(task_.spec), seconds_,
                      known_speakers_};
  for (const auto& [index, piece] : pieces_) plan.pieces.push_back(index);
  on_pool(
      job().children_done ? Queue::kLarge : Queue::kQuick,
      [this, &store = context().store(), plan = std::move(plan)] {
        return assemble_transcript(store, job(), plan);
      },
      [this](base::Result<Transcribed> ended) { concluded(std::move(ended)); });
}

void SttRun::concluded(base::Result<Transcribed> ended) {
  if (!ended) return end_with(ended.error(), [this] { merge_parts(); });
  add_used({.audio_ms = static_cast<std::int64_t>(ended->seconds * kMsPerSecond)});
  if (!names_warning_.empty()) ended->warning += (ended->warning.empty() ? "" : "; ") + names_warning_;
  if (ended->warning.empty()) return end(std::move(ended->outcome));
  auto kept = std::make_shared<Transcribed>(*std::move(ended));
  context().write_events({{std::string(schemas::kWarning), schemas::warning_event_data(kept->warning)}},
                         [this, self = shared_from_this(), kept](bool lease_held) {
                           if (!is_running()) return;
                           if (!lease_held) return end(Abandoned{});
                           end(std::move(kept->outcome));
                         });
}

base::Error SttRun::time_error(std::chrono::milliseconds limit) const {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(limit).count();
  return base::error(base::Code::kPieceTimeout,
                     "the recording has used its " + std::to_string(seconds) +
                         " s of processor time (stt.engine_time): send it in parts");
}

base::Error SttRun::crash_error(int piece) const {
  return base::error(base::Code::kPieceFailed,
                     "piece " + std::to_string(piece) + " crashed the engine process that transcribed it");
}

base::Error SttRun::engine_error(base::Error error) const {
  if (error.code != base::Code::kInternal || !recognition_.model) return error;
  return model_unusable(error, engines::is_fault_of_speaker_files(error, recognition_));
}

// The reason names files and quotes the engine, which clients need not know.
base::Error SttRun::model_unusable(const base::Error& why, bool is_fault_of_speaker_files) const {
  log_job(base::LogLevel::kError, "speech_model_unusable", job(),
          {{"model", task_.spec.local_model}, {"reason", engines::explained(why, recognition_)}});
  return base::error(base::Code::kInternal,
                     (is_fault_of_speaker_files
                          ? "speakers cannot be told apart on this worker"
                          : "the model '" + task_.spec.local_model + "' cannot be used on this worker") +
                         "; its log and `millrace doctor` show the reason");
}

std::string SttRun::failed_part(int, const base::Error& error) const {
  return schemas::to_json(schemas::TranscriptPiece{{}, {}, error});
}

SttRunner::SttRunner(engines::Transcriber& engine, Options options,
                     std::unique_ptr<ProviderTranscriber> remote)
    : engine_(engine), remote_(std::move(remote)), options_(options) {}

std::shared_ptr<Run> SttRunner::start(const storage::ClaimedJob& job, AttemptContext& context, Ended ended) {
  auto run = std::make_shared<SttRun>(job, context, SttTranscribers{engine_, remote_.get()}, options_,
                                      std::move(ended));
  run->begin();
  return run;
}

}  // namespace millrace::workers
