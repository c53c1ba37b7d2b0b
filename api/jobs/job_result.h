#pragma once
#include "api/call.h"
#include "api/context.h"
#include "api/media/transcript_reply.h"
#include "schemas/jobs/job.h"
#include "schemas/media/ocr.h"
#include "storage/jobs/job_queries.h"

namespace millrace::api {

enum class ReplayState { kFirst, kReplayed };  // kReplayed: the reply carries idempotent-replayed

// Sends a job's outcome: the result in the format of its kind, its stored error, 202 without a body while it
// is pending, 404 result_expired if the result has been deleted, or 413 with a hint to read it page by page
// if it is larger than Options::reply_bytes_max. `dropped`: x-millrace-dropped-params. `form`: format of a
// transcript, instead of the requested one. Blocks; runs on the pool.
void send_result(Context& context, Call& call, const schemas::JobId& job, ReplayState replay_state,
                 const std::string& dropped = {}, FormatOverride form = std::nullopt);
// Sends the result so far, limited to `pages` (ascending; empty: all). 200 in every state, except for a
// failed job without any part, whose error is sent.
void send_partial_result(Context& context, Call& call, const schemas::JobId& job,
                         const schemas::PageList& pages, FormatOverride form = std::nullopt);

// The error for a job without a result. REQUIRES: the job is over and has not succeeded.
base::Error error_of(const schemas::JobView& job);
base::Error expired_result();  // 404: the result has been deleted

// The bytes of a stored result. Blocks.
base::Result<std::string> read_payload(storage::Store& store, storage::StoredPayload payload);
// The error for stored bytes that cannot be read: they are damaged, they cannot be read now (kOverloaded: the
// object store does not answer), or `what`.
base::Error read_error(const base::Error& why, const char* what);

}  // namespace millrace::api
