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

// Creates a job for a checked request and sends {"request_id"} once the job is on disk. Runs on the front
// lane or the pool.
void defer_chat(Context& context, const CallPtr& call, schemas::ChatRequest request,
                std::optional<storage::IdempotencyKey> key);

// A job's stored outcome as the response, with headers, that the synchronous request would get.
front::Reply chat_reply_of(std::string stored);
// The error response of a failed job, built from its stored outcome. It names the request field that caused
// the error; its headers name the called model.
front::Reply chat_failure(std::string_view path, base::Error error, const std::string& stored);
// `job`'s JSON with the fields of its outcome: answered_by, upstream_attempts, dropped_params, usage,
// cost_usd. Blocks; runs on the pool.
std::string chat_job_json(Context& context, const std::string& tenant, const schemas::JobView& job);

}  // namespace millrace::api
