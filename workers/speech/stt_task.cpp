#include "workers/speech/stt_task.h"

#include <map>
#include <utility>

#include "jobs/policy.h"
#include "platform/base/base64.h"
#include "platform/process/memory_file.h"
#include "schemas/json/url_text.h"
#include "storage/jobs/job_queries.h"
#include "workers/payload.h"

namespace millrace::workers {
namespace {

using RecordingPtr = std::shared_ptr<const engines::Recording>;

base::Result<RecordingPtr> stored_recording(storage::Store& store, const storage::ClaimedJob& job) {
  if (!job.input) {
    return base::error(base::Code::kAudioEmpty, "the job's recording has been deleted");
  }
  auto file = store.blobs().open(*job.input);
  if (!file) return file.error();
  auto own = duplicate_descriptor(*file);
  if (!own) return own.error();
  return engines::Recording::from(std::move(*own), job.tenant);
}

// Splits the pieces into `count` non-empty sequences of lengths as equal as possible. A sequence ends before
// the first piece whose middle is past the sequence's share of the recording.
std::vector<std::vector<schemas::AudioPiece>> even_parts(const engines::RecordingInfo& info, int count) {
  std::vector<std::vector<schemas::AudioPiece>> parts(1);
  auto left = static_cast<int>(info.pieces.size());
  for (const schemas::AudioPiece& piece : info.pieces) {
    const auto begun = static_cast<int>(parts.size());
    const bool past = (piece.start_ms + piece.end_ms) / 2 * count >= info.ms * begun;
    const bool needed = left == count - begun;  // exactly one piece is left for each remaining sequence
    if (begun < count && !parts.back().empty() && (past || needed)) parts.emplace_back();
    parts.back().push_back(piece);
    --left;
  }
  return parts;
}

}  // namespace

base::Result<SttTask> open_recording_task(storage::Store& store, const storage::ClaimedJob& job) {
  auto text = read_payload(store.blobs(), {job.spec, job.spec_blob});
  if (!text) return text.error();
  auto spec = schemas::transcription_spec_from_json(*text);
  if (!spec) return spec.error();
  SttTask task{std::move(*spec), nullptr, {}, {}};
  if (job.children_done) return task;
  const schemas::JobId root = job.parent.value_or(job.lease.job);
  if (job.lease.attempt > 1) {
    auto finished = storage::JobQueries(store).part_indexes(root);
    if (!finished) return finished.error();
    task.finished = std::move(*finished);
  }
  if (job.lease.attempt > 1 || job.parent) {
    const auto used = storage::JobQueries(store).engine_time(root);
    if (!used) return used.error();
    task.engine_time = *used;
  }
  auto recording = stored_recording(store, job);
  if (!recording) return recording.error();
  task.recording = std::move(*recording);
  return task;
}

base::Result<RecordingPtr> reference_recording(const std::string& data_uri, const std::string& tenant) {
  const auto encoded = schemas::data_uri_base64(data_uri);
  const auto bytes = encoded ? base::base64_decode(*encoded) : std::nullopt;
  if (!bytes) return base::error(base::Code::kInvalidField, "it is not a data URI with base64");
  auto file = process::memory_file(*bytes);
  if (!file) return std::move(file.error());
  return engines::Recording::from(*std::move(file), tenant);
}

std::vector<storage::ChildSpec> piece_shares(const schemas::TranscriptionSpec& spec,
                                             const engines::RecordingInfo& info, int shares,
                                             base::WallTime now) {
  schemas::TranscriptionSpec share = spec;
  share.recording_ms = info.ms;
  // The local engine does not use them.
  share.prompt.clear();
  share.file_name.clear();
  share.speakers = {};
  std::vector<storage::ChildSpec> children;
  for (std::vector<schemas::AudioPiece>& pieces : even_parts(info, shares)) {
    share.pieces = std::move(pieces);
    children.push_back({schemas::to_json(share), {schemas::Kind::kStt, base::Uuid::make(now)}});
  }
  return children;
}

schemas::TranscriptPiece whole_piece(const schemas::Transcript& transcript) {
  schemas::TranscriptPiece piece{.segments = transcript.segments,
                                 .words = transcript.words,
                                 .error = std::nullopt,
                                 .language = transcript.language,
                                 .seconds = transcript.seconds};
  if (piece.segments.empty() && !transcript.text.empty()) {
    schemas::TranscriptSegment whole;
    whole.end = transcript.seconds.value_or(0);
    whole.text = transcript.text;
    piece.segments.push_back(std::move(whole));
  }
  return piece;
}

namespace {

using base::Code;
using schemas::TranscriptPiece;

base::Error piece_unheard() { return base::error(Code::kPieceFailed, "the piece could not be recognised"); }

base::Error stored_piece_lost(int index, const base::Error& why) {
  return base::error(Code::kInternal, "piece " + std::to_string(index) +
                                          " was transcribed, but its stored text cannot be read (" +
                                          why.message + "): send the recording again");
}

// The error of each piece of a share that failed as a whole: the share's error if it is about the recording,
// otherwise a general piece error.
base::Error piece_error(const std::optional<schemas::JobError>& error) {
  if (!error) return piece_unheard();
  constexpr int kUnprocessable = 422;
  const Code code = base::info(error->code).http_status == kUnprocessable ? error->code : Code::kPieceFailed;
  return base::error(code, error->message);
}

// What the transcript consists of: its pieces in order, each with the error to report if it has no part, and
// its length.
struct Expected {
  std::map<int, base::Error> pieces;
  std::map<int, schemas::AudioPiece> places;  // those that are known
  std::optional<double> seconds;
};

double seconds_of(std::int64_t ms) { return static_cast<double>(ms) / 1000; }

base::Result<Expected> expected_of_children(storage::JobQueries& queries, const schemas::JobId& root) {
  const auto children = queries.children(root);
  if (!children) return children.error();
  Expected expected;
  for (const auto& child : *children) {
    const auto spec = schemas::transcription_spec_from_json(child.spec);
    if (!spec) return spec.error();
    expected.seconds = seconds_of(spec->recording_ms);
    for (const schemas::AudioPiece& piece : spec->pieces) {
      expected.pieces.emplace(piece.index, piece_error(child.error));
      expected.places.emplace(piece.index, piece);
    }
  }
  return expected;
}

base::Result<Expected> expected_of(storage::JobQueries& queries, const schemas::JobId& root,
                                   const TranscriptPlan& plan) {
  if (plan.by_children) return expected_of_children(queries, root);
  Expected expected;
  expected.seconds = plan.seconds;
  for (const int piece : plan.pieces) expected.pieces.emplace(piece, piece_unheard());
  return expected;
}

using Stored = std::map<int, storage::StoredPayload>;

base::Result<Stored> stored_pieces(storage::JobQueries& queries, const schemas::JobId& root) {
  auto parts = queries.all_parts(root);
  if (!parts) return parts.error();
  Stored stored;
  for (storage::StoredPart& part : *parts) stored.emplace(part.index, std::move(part.payload));
  return stored;
}

base::Result<TranscriptPiece> piece_of(storage::Store& store, Stored& stored, int index,
                                       const base::Error& why_not) {
  const auto part = stored.find(index);
  if (part == stored.end()) return TranscriptPiece{{}, {}, why_not};
  const auto json = read_payload(store.blobs(), std::move(part->second));
  if (!json && jobs::is_local_limit(json.error())) return json.error();
  auto piece = json ? schemas::piece_from_json(*json) : json.error();
  if (!piece) return stored_piece_lost(index, piece.error());
  return piece;
}

// "1:02:03", or "2:03".
std::string clock_text(std::int64_t ms) {
  const std::int64_t seconds = ms / 1000, hours = seconds / 3600;
  const auto two = [](std::int64_t n) { return (n < 10 ? "0" : "") + std::to_string(n); };
  std::string rest = std::to_string(seconds / 60 % 60) + ":" + two(seconds % 60);
  if (hours == 0) return rest;
  return std::to_string(hours) + ":" + two(seconds / 60 % 60) + ":" + two(seconds % 60);
}

std::string place_text(const Expected& expected, int index) {
  const auto place = expected.places.find(index);
  if (place == expected.places.end()) return "piece " + std::to_string(index);
  return "from " + clock_text(place->second.start_ms) + " to " + clock_text(place->second.end_ms);
}

// The pieces collected for one transcript.
struct Gathered {
  std::vector<TranscriptPiece> pieces;
  std::optional<base::Error> first_error;
  int failed = 0;
  std::string first_place;

  void add(TranscriptPiece piece, const Expected& expected, int index) {
    if (piece.error) {
      if (failed++ == 0) {
        first_error = piece.error;
        first_place = place_text(expected, index);
      }
    }
    pieces.push_back(std::move(piece));
  }
  bool all_failed() const { return failed > 0 && failed == static_cast<int>(pieces.size()); }
  std::string warning() const {
    if (failed == 0) return {};
    const std::string count = std::to_string(failed) + " of " + std::to_string(pieces.size()) + " pieces";
    return count + " could not be recognised and are missing; the first " + first_place + ": " +
           first_error->message;
  }
};

// Only the provider knows whether its model tells speakers apart. Empty: it does, or nobody asked.
std::string speaker_warning(const schemas::Transcript& transcript, const schemas::TranscriptStyle& style,
                            bool by_provider) {
  const bool is_asked = style.form == schemas::TranscriptFormat::kDiarizedJson;
  if (!is_asked || transcript.text.empty() || schemas::has_speakers(transcript)) return {};
  if (!by_provider) return "the models of stt.speakers found no voice in the recording";
  return "the model named no speakers, so no segment has one: use a model that tells speakers apart";
}

base::Result<Outcome> finished_transcript(storage::Store& store, const schemas::Transcript& transcript,
                                          const schemas::TranscriptStyle& style) {
  const std::string json = schemas::to_json(transcript, style);
  PayloadWriter out(store.blobs(), static_cast<std::int64_t>(json.size()));
  if (auto written = out.append(json); !written) return written.error();
  auto payload = out.finish();
  if (!payload) return payload.error();
  return Outcome(Succeeded{std::move(*payload)});
}

}  // namespace

base::Result<Transcribed> whole_transcript(storage::Store& store, const schemas::Transcript& transcript,
                                           const schemas::TranscriptStyle& style) {
  auto outcome = finished_transcript(store, transcript, style);
  if (!outcome) return outcome.error();
  return Transcribed{std::move(*outcome), speaker_warning(transcript, style, true), 0};
}

base::Result<Transcribed> assemble_transcript(storage::Store& store, const storage::ClaimedJob& job,
                                              const TranscriptPlan& plan) {
  storage::JobQueries queries(store);
  const auto expected = expected_of(queries, job.lease.job, plan);
  if (!expected) return expected.error();
  auto stored = stored_pieces(queries, job.lease.job);
  if (!stored) return stored.error();
  Gathered gathered;
  for (const auto& [index, error] : expected->pieces) {
    auto piece = piece_of(store, *stored, index, error);
    if (!piece) return piece.error();
    gathered.add(*std::move(piece), *expected, index);
  }
  if (gathered.all_failed()) return Transcribed{Fail{*gathered.first_error, {}}, {}, 0};
  schemas::name_speakers(gathered.pieces, plan.known_speakers);
  const schemas::Transcript transcript = schemas::join(gathered.pieces, plan.language, expected->seconds);
  auto outcome = finished_transcript(store, transcript, plan.spec.style);
  if (!outcome) return outcome.error();
  std::string warning = gathered.warning();
  if (warning.empty()) warning = speaker_warning(transcript, plan.spec.style, false);
  return Transcribed{std::move(*outcome), std::move(warning), expected->seconds.value_or(0)};
}

}  // namespace millrace::workers
