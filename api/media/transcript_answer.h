#pragma once
#include <optional>
#include <string>
#include <vector>

#include "api/context.h"
#include "api/front/exchange.h"
#include "schemas/jobs/job.h"
#include "schemas/media/transcript.h"
#include "storage/jobs/job_queries.h"

// What jobs of kind stt have made, as their clients get it.
namespace millrace::api {

// The form that a reader wants instead of the one that was asked for.
using OtherForm = std::optional<schemas::TranscriptForm>;

// The reply of a stored transcript, in the form that was asked for, or in `other`; `model`: the requested
// model. kInternal: it cannot be read.
base::Result<front::Reply> transcript_reply(const std::string& stored, const std::string& model,
                                            OtherForm other = std::nullopt);

// One part of a job: what a piece of the recording says. Blocks: pool.
base::Result<schemas::SpokenPiece> spoken_piece(Context& context, const std::string& tenant,
                                                const schemas::JobId& job, int index);

// The same as transcript_reply for what there is so far, piece after piece. Blocks: pool.
base::Result<front::Reply> partial_transcript(Context& context, const std::string& tenant,
                                              const schemas::JobId& job,
                                              const std::vector<storage::PartSize>& parts,
                                              OtherForm other = std::nullopt);

}  // namespace millrace::api
