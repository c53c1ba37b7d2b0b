#include "api/media/transcript_reply.h"

#include "api/jobs/job_result.h"
#include "api/reply.h"
#include "schemas/media/speaker_names.h"
#include "schemas/media/transcription.h"

namespace millrace::api {
namespace {

base::Error unreadable_transcript() {
  return base::error(base::Code::kInternal,
                     "The transcript of this job cannot be read: its file is missing or damaged in the data "
                     "directory. Restore the directory from a backup, or send the recording again");
}

base::Error unreadable_piece(int index) {
  return base::error(
      base::Code::kInternal,
      "Piece " + std::to_string(index) +
          " of this recording was transcribed, but its stored result cannot be read: the file is "
          "missing or damaged in the data directory. Restore the directory from a backup, or "
          "send the recording again");
}

base::Error no_stored_speakers() {
  return base::error(base::Code::kInvalidField,
                     "The transcript of this job names no speakers. Send the recording again with "
                     "response_format=diarized_json and a model that tells speakers apart, or read another "
                     "format",
                     "format");
}

// If the format differs from the requested one, the transcript includes all segments.
schemas::TranscriptStyle style_for(schemas::TranscriptStyle style, FormatOverride other) {
  if (!other) return style;
  style.form = *other;
  style.segments = true;
  return style;
}

base::Result<front::Reply> reply_with(const schemas::Transcript& transcript,
                                      const schemas::TranscriptStyle& requested, FormatOverride other,
                                      const std::string& model) {
  constexpr auto kDiarized = schemas::TranscriptFormat::kDiarizedJson;
  const bool needs_speakers = other == kDiarized && requested.form != kDiarized;
  if (needs_speakers && !schemas::has_speakers(transcript)) return no_stored_speakers();
  const schemas::TranscriptStyle style = style_for(requested, other);
  return front::Reply{.status = 200,
                      .content_type = std::string(schemas::content_type(style.form)),
                      .headers = {},
                      .body = schemas::render(transcript, style, model)};
}

base::Result<schemas::TranscriptionSpec> spec_of(Context& context, const std::string& tenant,
                                                 const schemas::JobId& job) {
  auto record = storage::JobQueries(context.store).record(tenant, job);
  if (!record) return record.error();
  const auto json = read_payload(context.store, std::move(record->spec));
  if (!json) return read_error(json.error(), unreadable_transcript().message.c_str());
  return schemas::transcription_spec_from_json(*json);
}

}  // namespace

base::Result<front::Reply> transcript_reply(const std::string& stored, const std::string& model,
                                            FormatOverride other) {
  const auto read = schemas::stored_transcript(stored);
  if (!read) return unreadable_transcript();
  return reply_with(read->transcript, read->style, other, model);
}

base::Result<schemas::TranscriptPiece> spoken_piece(Context& context, const std::string& tenant,
                                                    const schemas::JobId& job, int index) {
  auto part = storage::JobQueries(context.store).part(tenant, job, index);
  if (!part) return part.error().code == base::Code::kNotFound ? expired_result() : part.error();
  const auto json = read_payload(context.store, std::move(*part));
  if (!json) return read_error(json.error(), unreadable_piece(index).message.c_str());
  auto piece = schemas::piece_from_json(*json);
  if (!piece) return unreadable_piece(index);
  return piece;
}

base::Result<front::Reply> partial_transcript(Context& context, const std::string& tenant,
                                              const schemas::JobId& job,
                                              const std::vector<storage::PartSize>& parts,
                                              FormatOverride other) {
  const auto spec = spec_of(context, tenant, job);
  if (!spec) return spec.error();
  std::vector<schemas::TranscriptPiece> pieces;
  pieces.reserve(parts.size());
  for (const storage::PartSize& part : parts) {
    auto piece = spoken_piece(context, tenant, job, part.index);
    if (!piece) return piece.error();
    pieces.push_back(*std::move(piece));
  }
  schemas::name_speakers(pieces, {});
  const schemas::Transcript so_far = schemas::join(pieces, schemas::spoken_language(*spec), std::nullopt);
  return reply_with(so_far, spec->style, other, spec->model);
}

}  // namespace millrace::api
