#pragma once
#include <optional>
#include <string>
#include <vector>

#include "api/context.h"
#include "api/front/exchange.h"
#include "schemas/jobs/job.h"
#include "schemas/media/transcript.h"
#include "storage/jobs/job_queries.h"

// Responses with the results of jobs of kind stt.
namespace millrace::api {

// A format that replaces the one in the original request.
using FormatOverride = std::optional<schemas::TranscriptFormat>;

// The reply with a stored transcript, in the requested format or in `other`. `model`: the requested model.
// kInternal: the transcript cannot be read. kInvalidField: `other` is diarized_json, which was not requested,
// and the transcript names no speakers.
base::Result<front::Reply> transcript_reply(const std::string& stored, const std::string& model,
                                            FormatOverride other = std::nullopt);

// The transcript of one piece of the recording, which is one part of the job. Blocks; runs on the pool.
base::Result<schemas::TranscriptPiece> spoken_piece(Context& context, const std::string& tenant,
                                                    const schemas::JobId& job, int index);

// Like transcript_reply, for the pieces that are finished so far. Blocks; runs on the pool.
base::Result<front::Reply> partial_transcript(Context& context, const std::string& tenant,
                                              const schemas::JobId& job,
                                              const std::vector<storage::PartSize>& parts,
                                              FormatOverride other = std::nullopt);

}  // namespace millrace::api
