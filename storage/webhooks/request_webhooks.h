#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "platform/base/ids.h"
#include "platform/base/result.h"
#include "storage/webhooks/webhook_secret.h"
#include "storage/writer/writer.h"

// Webhooks that a request names by their URL: the endpoint is made at the first use of a URL by a tenant, and
// is sent only the ends of such jobs.
namespace millrace::storage {

struct RequestWebhook {
  base::Uuid id;  // of the endpoint, if it is a new one; so is `secret`
  std::string url;
  WebhookSecret secret;
  int most = 0;  // endpoints of the tenant (webhooks.per_tenant)
};

// Inside storage.

// The tenant's endpoint for the URL; absent: it has none. kInvalidState: it is disabled. kQuotaFull: it would
// be one too many.
base::Result<std::optional<base::Uuid>> find_request_webhook(Tx& tx, std::string_view tenant,
                                                             const RequestWebhook& webhook);

struct WebhookRequest {
  std::string_view tenant, key_id;
  base::Uuid job;
  std::optional<base::Uuid> endpoint;  // as found; absent: it is made
};
// The end of the job will be sent to it.
void add_request_webhook(Tx& tx, const RequestWebhook& webhook, const WebhookRequest& request);
// The endpoint that the request of a job has named. Forgets it.
std::optional<base::Uuid> take_request_webhook(Db& db, const base::Uuid& job);

}  // namespace millrace::storage
