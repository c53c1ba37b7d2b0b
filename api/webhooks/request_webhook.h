#pragma once
#include <string_view>

#include "api/call.h"
#include "api/context.h"
#include "platform/base/result.h"
#include "storage/jobs/job_intake.h"

namespace millrace::api {

// The URL that is sent the end of the job that a request makes.
inline constexpr std::string_view kWebhookUrlHeader = "x-millrace-webhook-url";

// Sets `submission.webhook` if the request has the header. kFetchRefused: webhooks.allowed_hosts has not its
// host.
base::Status add_request_webhook(const Context& context, const Call& call, storage::Submission& submission);
// kInvalidField: the request has the header, but makes no job.
base::Status check_no_request_webhook(const Call& call);

// Random keys for the endpoint with this id.
struct NewWebhookKeys {
  storage::WebhookSecret stored;
  std::string shown;  // the secret, for its owner
};
NewWebhookKeys make_webhook_keys(const Context& context, const base::Uuid& endpoint);

}  // namespace millrace::api
