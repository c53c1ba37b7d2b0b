#include "storage/webhooks/request_webhooks.h"

#include "storage/db/db.h"
#include "storage/sql.h"
#include "storage/webhooks/webhook_endpoints.h"
#include "storage/webhooks/webhook_outbox.h"

namespace millrace::storage {

base::Result<std::optional<base::Uuid>> find_request_webhook(Tx& tx, std::string_view tenant,
                                                             const RequestWebhook& webhook) {
  {
    auto s = tx.db.prepare(R"(
        SELECT id, status, reason FROM webhook_endpoints
        WHERE tenant = ?1 AND url = ?2 AND on_request = 1 AND status < {webhook_deleted})"_sql);
    if (s.bind(tenant, webhook.url).step()) {
      const auto status = static_cast<schemas::WebhookStatus>(s.integer(1));
      if (status == schemas::WebhookStatus::kEnabled) return std::optional(s.uuid(0));
      return disabled_webhook(s.uuid(0), s.text(2));
    }
  }
  if (webhooks_of(tx.db, tenant) >= webhook.most) return too_many_webhooks(webhook.most);
  return std::optional<base::Uuid>();
}

void add_request_webhook(Tx& tx, const RequestWebhook& webhook, const WebhookRequest& request) {
  const base::Uuid endpoint = request.endpoint.value_or(webhook.id);
  if (!request.endpoint) {
    insert_webhook(tx,
                   {.id = webhook.id,
                    .tenant = std::string(request.tenant),
                    .key_id = std::string(request.key_id),
                    .url = webhook.url,
                    .on_request = true,
                    .public_key = webhook.secret.public_key,
                    .created_at = tx.now},
                   webhook.secret.sealed);
  } else {
    // Its key stays as long as it is valid: another one may read less, or end sooner.
    tx.db
        .prepare(R"(
        UPDATE webhook_endpoints SET key_id = ?2
        WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM api_keys AS k
            WHERE k.id = webhook_endpoints.key_id AND k.revoked_at IS NULL
                AND (k.expires_at IS NULL OR k.expires_at > ?3)))"_sql)
        .bind(endpoint, request.key_id, base::millis(tx.now))
        .run();
  }
  tx.db.prepare("INSERT INTO webhook_requests (job, endpoint) VALUES (?1, ?2)")
      .bind(request.job, endpoint)
      .run();
}

std::optional<base::Uuid> take_request_webhook(Db& db, const base::Uuid& job) {
  std::optional<base::Uuid> endpoint;
  {
    auto s = db.prepare("SELECT endpoint FROM webhook_requests WHERE job = ?1");
    if (s.bind(job).step()) endpoint = s.uuid(0);
  }
  if (endpoint) db.prepare("DELETE FROM webhook_requests WHERE job = ?1").bind(job).run();
  return endpoint;
}

}  // namespace millrace::storage
