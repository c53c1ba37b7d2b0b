#pragma once
#include <optional>
#include <string>

#include "api/call.h"
#include "api/context.h"
#include "schemas/chat/chat_request.h"
#include "schemas/jobs/job.h"
#include "storage/jobs/idempotent_call.h"

// Chat requests as jobs.
namespace millrace::api {

// Makes a job of a request that has been checked, and answers {"request_id"} once it is on disk. On the front
// lane or the pool.
void defer_chat(Context& context, const CallPtr& call, schemas::ChatRequest request,
                std::optional<storage::IdempotencyKey> key);

// A job's stored outcome as the answer that the request would have had, with its headers.
front::Reply chat_reply_of(std::string stored);
// The error that a failed job answers with, by what it has stored: the field that it is about, and the
// headers that say who was asked.
front::Reply chat_failure(std::string_view path, base::Error error, const std::string& stored);
// `job`'s JSON with what its outcome says: answered_by, attempts_upstream, dropped_params, usage, cost_usd.
// Blocks: pool.
std::string chat_job_json(Context& context, const std::string& tenant, const schemas::JobView& job);

}  // namespace millrace::api
