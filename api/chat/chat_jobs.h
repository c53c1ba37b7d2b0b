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

// A chat request that is being answered.
struct ChatIntake {
  Context& context;
  CallPtr call;
  schemas::ChatRequest request;
  std::optional<storage::IdempotencyKey> key;
  std::size_t bytes;                         // of the body, with the files that it names
  bool is_on_pool = false;                   // whatever the size of the body
  std::optional<base::Uuid> missing_file{};  // it can only repeat a request that found this file
};

// Creates a job for a checked request and sends {"request_id"} once the job is on disk. Runs on the front
// lane or the pool.
void defer_chat(ChatIntake intake);

// A job's stored outcome as the response, with headers, that the synchronous request would get.
front::Reply chat_reply_of(std::string stored);
// The error response of a failed job, built from its stored outcome. It names the request field that caused
// the error; its headers name the called model.
front::Reply chat_failure(std::string_view path, base::Error error, const std::string& stored);
// `job`'s JSON with the fields of its outcome: answered_by, upstream_attempts, dropped_params, usage,
// cost_usd. Blocks; runs on the pool.
std::string chat_job_json(Context& context, const std::string& tenant, const schemas::JobView& job);

}  // namespace millrace::api
