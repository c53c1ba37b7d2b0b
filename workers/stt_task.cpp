#include "workers/stt_task.h"

#include <utility>

#include "storage/job_queries.h"
#include "workers/payload.h"

namespace millrace::workers {
namespace {

using RecordingPtr = std::shared_ptr<const engines::Recording>;

base::Result<RecordingPtr> stored_recording(storage::Store& store, const storage::Claimed& job) {
  if (!job.input) {
    return base::error(base::Code::kAudioEmpty, "the job's recording is not there any more");
  }
  auto file = store.blobs().open(*job.input);
  if (!file) return file.error();
  auto own = own_descriptor(*file);
  if (!own) return own.error();
  return engines::Recording::from(std::move(*own));
}

// So many runs of pieces, as long as each other as can be, none of them empty: a run ends with the piece
// whose middle is past its part of the whole.
std::vector<std::vector<schemas::AudioPiece>> even_parts(const engines::RecordingInfo& info, int count) {
  std::vector<std::vector<schemas::AudioPiece>> parts(1);
  auto left = static_cast<int>(info.pieces.size());
  for (const schemas::AudioPiece& piece : info.pieces) {
    const auto begun = static_cast<int>(parts.size());
    const bool past = (piece.start_ms + piece.end_ms) / 2 * count >= info.ms * begun;
    const bool needed = left == count - begun;  // what is left is one piece for each of the others
    if (begun < count && !parts.back().empty() && (past || needed)) parts.emplace_back();
    parts.back().push_back(piece);
    --left;
  }
  return parts;
}

}  // namespace

base::Result<SttTask> open_recording_task(storage::Store& store, const storage::Claimed& job) {
  auto text = bytes_of(store.blobs(), {job.spec, job.spec_blob});
  if (!text) return text.error();
  auto spec = schemas::transcription_spec_from_json(*text);
  if (!spec) return spec.error();
  SttTask task{std::move(*spec), nullptr, {}};
  if (job.children_done) return task;
  if (job.lease.attempt > 1) {
    auto finished = storage::JobQueries(store).part_indexes(job.parent.value_or(job.lease.job));
    if (!finished) return finished.error();
    task.finished = std::move(*finished);
  }
  auto recording = stored_recording(store, job);
  if (!recording) return recording.error();
  task.recording = std::move(*recording);
  return task;
}

std::vector<storage::ChildSpec> piece_shares(const schemas::TranscriptionSpec& spec,
                                             const engines::RecordingInfo& info, int shares,
                                             base::WallTime now) {
  schemas::TranscriptionSpec share = spec;
  share.recording_ms = info.ms;
  // The local engine has no use for them.
  share.prompt.clear();
  share.file_name.clear();
  std::vector<storage::ChildSpec> children;
  for (std::vector<schemas::AudioPiece>& pieces : even_parts(info, shares)) {
    share.pieces = std::move(pieces);
    children.push_back({schemas::to_json(share), {schemas::Kind::kStt, base::Uuid::make(now)}});
  }
  return children;
}

schemas::SpokenPiece whole_piece(const schemas::Transcript& transcript) {
  schemas::SpokenPiece piece{.segments = transcript.segments,
                             .words = transcript.words,
                             .error = std::nullopt,
                             .language = transcript.language,
                             .seconds = transcript.seconds};
  if (piece.segments.empty() && !transcript.text.empty()) {
    schemas::SpokenSegment whole;
    whole.end = transcript.seconds.value_or(0);
    whole.text = transcript.text;
    piece.segments.push_back(std::move(whole));
  }
  return piece;
}

}  // namespace millrace::workers
