#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "schemas/webhooks/webhook.h"
#include "storage/jobs/idempotent_call.h"
#include "storage/store.h"
#include "storage/webhooks/webhook_secret.h"
#include "storage/writer/writer.h"

namespace millrace::storage {

// The webhook endpoints of tenants. All changes are audited. Writes never block; reads block: for pool
// threads. Errors of calls that name an endpoint: kNotFound. A call that changes or
// rotates it makes the calling key answer for it; kForbidden: that key may read less than the one before.
class WebhookEndpoints {
 public:
  explicit WebhookEndpoints(Store& store) : store_(store) {}

  // kQuotaFull: the tenant has `most` endpoints (webhooks.per_tenant).
  void create(schemas::WebhookEndpoint endpoint, WebhookSecret secret, int most,
              Callback<schemas::WebhookEndpoint> done);
  base::Result<schemas::WebhookEndpoint> endpoint(const std::string& tenant, const base::Uuid& id);
  // Newest first, before this id.
  base::Result<std::vector<schemas::WebhookEndpoint>> list(const std::string& tenant, int limit,
                                                           std::optional<base::Uuid> before);
  // Enabling it sends what waits.
  void change(base::Uuid id, schemas::WebhookChange change, IdempotentCall call,
              ReplyBuilder<schemas::WebhookEndpoint> reply, Callback<CallReply> done);
  // Nothing is sent to it any more; maintenance deletes its rows. Replies with its last state.
  void remove(base::Uuid id, IdempotentCall call, ReplyBuilder<schemas::WebhookEndpoint> reply,
              Callback<CallReply> done);
  // From now on `secret` signs, and for `overlap` the present one, too; an earlier one no longer does.
  void rotate(const base::Uuid& id, const Caller& by, WebhookSecret secret, std::chrono::milliseconds overlap,
              Callback<schemas::WebhookEndpoint> done);

 private:
  Store& store_;
};

base::Error no_such_webhook();  // kNotFound

// Inside storage: an endpoint that is not deleted.
std::optional<schemas::WebhookEndpoint> find_webhook(Db& db, const std::string& tenant, const base::Uuid& id);
// How many endpoints a tenant has.
std::int64_t webhooks_of(Db& db, std::string_view tenant);
base::Error too_many_webhooks(int most);  // kQuotaFull
// kInvalidState. `reason`: WebhookEndpoint::reason.
base::Error disabled_webhook(const base::Uuid& id, const std::string& reason);
// Inserts a new enabled row, and audits it.
void insert_webhook(Tx& tx, const schemas::WebhookEndpoint& endpoint, std::string_view sealed);

}  // namespace millrace::storage
