#include "api/webhooks/request_webhook.h"

#include <string>
#include <utility>

#include "api/headers.h"
#include "api/webhooks/webhook_signature.h"
#include "schemas/webhooks/webhook.h"

namespace millrace::api {

NewWebhookKeys make_webhook_keys(const Context& context, const base::Uuid& endpoint) {
  const WebhookKeys keys = WebhookKeys::make();
  return {.stored = {.sealed = seal_keys(context.secret_key, schemas::webhook_id(endpoint), keys),
                     .public_key = keys.public_key()},
          .shown = schemas::webhook_secret_text(keys.hmac_key)};
}

base::Status add_request_webhook(const Context& context, const Call& call, storage::Submission& submission) {
  const std::string url(trimmed(call.head().header(kWebhookUrlHeader).value_or("")));
  if (url.empty()) return {};
  const std::string field(kWebhookUrlHeader);
  if (url.size() > schemas::kWebhookUrlMax)
    return base::error(base::Code::kInvalidField, field + " has more than 2048 bytes", field);
  auto target = context.options.webhook_guard->check_url(url, kWebhookUrlHeader);
  if (!target) return target.error();
  if (!target->opened) {
    return base::error(base::Code::kFetchRefused,
                       field +
                           " names a host that is not in `webhooks.allowed_hosts`; add it there, or add the "
                           "URL once with POST /v1/webhooks",
                       field);
  }
  const base::Uuid id = base::Uuid::make(context.clock.wall());
  submission.webhook = {.id = id,
                        .url = std::move(target->url),
                        .secret = make_webhook_keys(context, id).stored,
                        .most = context.options.webhooks_per_tenant};
  return {};
}

base::Status check_no_request_webhook(const Call& call) {
  if (trimmed(call.head().header(kWebhookUrlHeader).value_or("")).empty()) return {};
  const std::string field(kWebhookUrlHeader);
  return base::error(base::Code::kInvalidField, field + " needs a job: send \"deferred\": true", field);
}

}  // namespace millrace::api
