#pragma once
#include "api/call.h"
#include "api/context.h"
#include "api/media/transcript_answer.h"
#include "schemas/jobs/job.h"
#include "schemas/media/ocr.h"
#include "storage/jobs/job_queries.h"

namespace millrace::api {

enum class Freshness { kFirst, kReplayed };  // kReplayed: idempotent-replayed goes on the reply

// Answers with what a job has come to: its kind's own reply, its stored error, 202 without a body while it is
// pending, 404 result_expired when the result is gone, 413 with the way to read it by pages when it is larger
// than Options::reply_bytes_max. `dropped`: x-millrace-dropped-params. `form`: of a transcript, instead of
// the one that was asked for. Blocks: pool.
void send_result(Context& context, Call& call, const schemas::JobId& job, Freshness freshness,
                 const std::string& dropped = {}, OtherForm form = std::nullopt);
// What there is so far of `pages` (rising; none: of all): 200, whatever the state (a failed job without a
// single part: its error).
void send_partial_result(Context& context, Call& call, const schemas::JobId& job,
                         const schemas::PageList& pages, OtherForm form = std::nullopt);

// The error that a job without a result answers with. REQUIRES: it is over, and has not succeeded.
base::Error error_of(const schemas::JobView& job);
base::Error expired_result();  // 404: it has been removed

// The bytes of a stored result. Blocks.
base::Result<std::string> bytes_of(storage::Store& store, storage::StoredPayload payload);
// The error for stored bytes that cannot be read: they are damaged, or `what`.
base::Error not_read(const base::Error& why, const char* what);

}  // namespace millrace::api
