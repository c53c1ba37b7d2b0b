#include "storage/webhooks/webhook_endpoints.h"

#include <utility>

#include "schemas/json/json_text.h"
#include "storage/admin/audit.h"
#include "storage/db/columns.h"
#include "storage/db/db.h"
#include "storage/jobs/idempotency.h"
#include "storage/sql.h"
#include "storage/webhooks/webhook_outbox.h"
#include "storage/writer/readers.h"
#include "storage/writer/store_clock.h"

namespace millrace::storage {
namespace {

using schemas::WebhookEndpoint;
using schemas::WebhookStatus;

constexpr std::size_t kWebhookRowBytes = 4'096;

WebhookEndpoint webhook_at(const Statement& s, std::chrono::milliseconds jumped) {
  WebhookEndpoint endpoint{.id = s.uuid(0),
                           .tenant = s.text(1),
                           .key_id = s.text(2),
                           .url = s.text(3),
                           .events = schemas::filter_from(s.text(4)),
                           .kinds = schemas::filter_from(s.text(5)),
                           .on_request = s.integer(14) != 0,
                           .status = static_cast<WebhookStatus>(s.integer(6)),
                           .reason = s.text(7),
                           .public_key = s.blob(8),
                           .pending = s.integer(11),
                           .created_at = base::wall_from(s.integer(12)),
                           .delivered_at = optional_time(s.optional_integer(13))};
  if (const auto until = s.optional_integer(10)) {
    endpoint.previous_public_key = s.blob(9);
    endpoint.previous_until = base::wall_from(*until) + jumped;
  }
  return endpoint;
}

// Without what is over.
WebhookEndpoint shown_webhook(WebhookEndpoint endpoint, base::WallTime now) {
  if (endpoint.previous_until && *endpoint.previous_until <= now) endpoint.previous_until.reset();
  return endpoint;
}

void audit_webhook(Tx& tx, const WebhookEndpoint& endpoint, const std::string& actor, std::string act) {
  append_audit(tx, {.tenant = endpoint.tenant,
                    .actor = actor,
                    .act = std::move(act),
                    .target = schemas::webhook_id(endpoint.id),
                    .data = schemas::JsonObject().member("url", endpoint.url).finish()});
}

base::Result<WebhookEndpoint> create_webhook(Tx& tx, const WebhookEndpoint& made, const WebhookSecret& secret,
                                             int most) {
  if (webhooks_of(tx.db, made.tenant) >= most) return too_many_webhooks(most);
  WebhookEndpoint endpoint = made;
  endpoint.public_key = secret.public_key;
  insert_webhook(tx, endpoint, secret.sealed);
  return endpoint;
}

void save_webhook(Tx& tx, const WebhookEndpoint& endpoint) {
  const std::string events = schemas::filter_text(endpoint.events),
                    kinds = schemas::filter_text(endpoint.kinds);
  tx.webhooks.reset(tx.db);
  tx.db
      .prepare(R"(
      UPDATE webhook_endpoints SET key_id = ?2, url = ?3, events = ?4, kinds = ?5,
          enabled_at = CASE WHEN status = ?6 THEN enabled_at ELSE ?8 END, status = ?6, reason = ?7
      WHERE id = ?1)"_sql)
      .bind(endpoint.id, endpoint.key_id, endpoint.url, events, kinds, endpoint.status, endpoint.reason,
            base::millis(tx.steady()))
      .run();
  count_enabled_webhooks(tx.db);
}

std::optional<schemas::ScopeSet> scopes_of_key(Db& db, const std::string& key) {
  auto s = db.prepare("SELECT scopes FROM api_keys WHERE id = ?1");
  if (!s.bind(key).step()) return std::nullopt;
  return scopes_from(s.text(0));
}

// The key that changes an endpoint answers for it from then on, and what waits was written for the key
// before: it must be able to read as much. kForbidden.
base::Status may_answer_for(Db& db, const WebhookEndpoint& endpoint, const std::string& key) {
  using schemas::Scope;
  if (key.empty() || key == endpoint.key_id) return {};
  const auto before = scopes_of_key(db, endpoint.key_id), after = scopes_of_key(db, key);
  if (!before || !after) return {};
  for (const Scope scope : {Scope::kJobsRead, Scope::kExecRead, Scope::kOcr, Scope::kChat, Scope::kAudio}) {
    if (!before->has(scope) || after->has(scope)) continue;
    return base::error(base::Code::kForbidden,
                       "this API key lacks the scope '" + std::string(schemas::name(scope)) +
                           "', which the key of the webhook has, so it may not change the webhook");
  }
  return {};
}

// What was tried in vain is sent at once, and has all its attempts again. The rest waits behind it.
void begin_attempts_anew(Tx& tx, const base::Uuid& endpoint) {
  tx.db
      .prepare(R"(
      UPDATE webhook_deliveries SET next_at = ?2, since = ?2, attempts = 0
      WHERE endpoint = ?1 AND state = {delivery_pending} AND attempts > 0 AND lease_until < ?2)"_sql)
      .bind(endpoint, base::millis(tx.steady()))
      .run();
}

base::Result<CallReply> change_webhook(Tx& tx, const base::Uuid& id, const schemas::WebhookChange& change,
                                       const IdempotentCall& call,
                                       const ReplyBuilder<WebhookEndpoint>& reply) {
  if (const auto before = find_stored_reply(tx, call)) return *before;
  auto endpoint = find_webhook(tx.db, call.tenant, id);
  if (!endpoint) return no_such_webhook();
  if (const base::Status may = may_answer_for(tx.db, *endpoint, call.actor); !may) return may.error();
  endpoint->key_id = call.actor;
  if (change.url) endpoint->url = *change.url;
  if (change.events) endpoint->events = *change.events;
  if (change.kinds) endpoint->kinds = *change.kinds;
  if (change.status && *change.status != endpoint->status) {
    endpoint->status = *change.status;
    endpoint->reason.clear();
    if (endpoint->status == WebhookStatus::kEnabled) begin_attempts_anew(tx, id);
    tx.commit.has_webhooks = true;
  }
  save_webhook(tx, *endpoint);
  audit_webhook(tx, *endpoint, call.actor, "webhook.change");
  return store_reply(tx, call, reply(shown_webhook(*std::move(endpoint), tx.now)));
}

base::Result<CallReply> remove_webhook(Tx& tx, const base::Uuid& id, const IdempotentCall& call,
                                       const ReplyBuilder<WebhookEndpoint>& reply) {
  if (const auto before = find_stored_reply(tx, call)) return *before;
  auto endpoint = find_webhook(tx.db, call.tenant, id);
  if (!endpoint) return no_such_webhook();
  endpoint->status = WebhookStatus::kDeleted;
  save_webhook(tx, *endpoint);
  audit_webhook(tx, *endpoint, call.actor, "webhook.delete");
  return store_reply(tx, call, reply(*endpoint));
}

struct WebhookRotation {
  base::Uuid id;
  Caller by;
  WebhookSecret secret;
  std::chrono::milliseconds overlap;
};

base::Result<WebhookEndpoint> rotate_webhook(Tx& tx, const WebhookRotation& rotation) {
  auto endpoint = find_webhook(tx.db, rotation.by.tenant, rotation.id);
  if (!endpoint) return no_such_webhook();
  if (const base::Status may = may_answer_for(tx.db, *endpoint, rotation.by.actor); !may) return may.error();
  const base::WallTime until = tx.steady() + rotation.overlap;
  tx.db
      .prepare(R"(
      UPDATE webhook_endpoints SET previous_secret = secret, previous_key = public_key, previous_until = ?4,
          secret = ?2, public_key = ?3
      WHERE id = ?1)"_sql)
      .bind(rotation.id, BlobView{rotation.secret.sealed}, BlobView{rotation.secret.public_key},
            base::millis(until))
      .run();
  endpoint->key_id = rotation.by.actor;
  save_webhook(tx, *endpoint);
  audit_webhook(tx, *endpoint, rotation.by.actor, "webhook.rotate");
  endpoint->previous_public_key = std::exchange(endpoint->public_key, rotation.secret.public_key);
  endpoint->previous_until = until + tx.jumped;
  return shown_webhook(*std::move(endpoint), tx.now);
}

}  // namespace

std::int64_t webhooks_of(Db& db, std::string_view tenant) {
  auto s = db.prepare(
      "SELECT count(*) FROM webhook_endpoints WHERE tenant = ?1 AND status < {webhook_deleted}"_sql);
  s.bind(tenant).step();
  return s.integer(0);
}

base::Error too_many_webhooks(int most) {
  return base::error(base::Code::kQuotaFull,
                     "This tenant has " + std::to_string(most) +
                         " webhooks, the most that `webhooks.per_tenant` allows; delete one first",
                     "webhooks.per_tenant");
}

base::Error disabled_webhook(const base::Uuid& id, const std::string& reason) {
  return base::error(base::Code::kInvalidState, "Webhook " + schemas::webhook_id(id) + " is disabled" +
                                                    (reason.empty() ? "" : ": " + reason) +
                                                    "; enable it first (PATCH with \"status\": \"enabled\")");
}

void insert_webhook(Tx& tx, const WebhookEndpoint& endpoint, std::string_view sealed) {
  const std::string events = schemas::filter_text(endpoint.events),
                    kinds = schemas::filter_text(endpoint.kinds);
  tx.db
      .prepare(R"(
      INSERT INTO webhook_endpoints (id, tenant, key_id, url, events, kinds, status, reason, secret, public_key,
          created_at, on_request, enabled_at)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, {webhook_enabled}, '', ?7, ?8, ?9, ?10, ?11))"_sql)
      .bind(endpoint.id, endpoint.tenant, endpoint.key_id, endpoint.url, events, kinds, BlobView{sealed},
            BlobView{endpoint.public_key}, base::millis(endpoint.created_at), endpoint.on_request,
            base::millis(tx.steady()))
      .run();
  count_enabled_webhooks(tx.db);
  tx.webhooks.reset(tx.db);
  audit_webhook(tx, endpoint, endpoint.key_id, "webhook.create");
}

base::Error no_such_webhook() { return base::error(base::Code::kNotFound, "There is no such webhook"); }

std::optional<WebhookEndpoint> find_webhook(Db& db, const std::string& tenant, const base::Uuid& id) {
  const auto jumped = clock_jumps(db);
  auto s = db.prepare(R"(
      SELECT id, tenant, key_id, url, events, kinds, status, reason, public_key, previous_key, previous_until,
          pending, created_at, delivered_at, on_request
      FROM webhook_endpoints WHERE id = ?1 AND tenant = ?2 AND status < {webhook_deleted})"_sql);
  if (!s.bind(id, tenant).step()) return std::nullopt;
  return webhook_at(s, jumped);
}

void WebhookEndpoints::create(WebhookEndpoint endpoint, WebhookSecret secret, int most,
                              Callback<WebhookEndpoint> done) {
  submit_write<WebhookEndpoint>(
      store_.writer(), Writer::Priority::kInteractive, kWebhookRowBytes,
      [endpoint = std::move(endpoint), secret = std::move(secret), most](Tx& tx) {
        return create_webhook(tx, endpoint, secret, most);
      },
      std::move(done));
}

base::Result<WebhookEndpoint> WebhookEndpoints::endpoint(const std::string& tenant, const base::Uuid& id) {
  auto found = read(store_.readers(), [&](Db& db) { return find_webhook(db, tenant, id); });
  if (!found) return found.error();
  if (!*found) return no_such_webhook();
  return shown_webhook(**std::move(found), store_.clock().wall());
}

base::Result<std::vector<WebhookEndpoint>> WebhookEndpoints::list(const std::string& tenant, int limit,
                                                                  std::optional<base::Uuid> before) {
  const base::Uuid start = before.value_or(max_id());
  return read(store_.readers(), [&](Db& db) {
    std::vector<WebhookEndpoint> found;
    const auto jumped = clock_jumps(db);
    auto s = db.prepare(R"(
        SELECT id, tenant, key_id, url, events, kinds, status, reason, public_key, previous_key, previous_until,
            pending, created_at, delivered_at, on_request
        FROM webhook_endpoints WHERE tenant = ?1 AND id < ?2 AND status < {webhook_deleted}
        ORDER BY id DESC LIMIT ?3)"_sql);
    s.bind(tenant, start, limit);
    while (s.step()) found.push_back(shown_webhook(webhook_at(s, jumped), store_.clock().wall()));
    return found;
  });
}

void WebhookEndpoints::change(base::Uuid id, schemas::WebhookChange change, IdempotentCall call,
                              ReplyBuilder<WebhookEndpoint> reply, Callback<CallReply> done) {
  submit_write<CallReply>(
      store_.writer(), Writer::Priority::kInteractive, kWebhookRowBytes,
      [id, change = std::move(change), call = std::move(call), reply = std::move(reply)](Tx& tx) {
        return change_webhook(tx, id, change, call, reply);
      },
      std::move(done));
}

void WebhookEndpoints::remove(base::Uuid id, IdempotentCall call, ReplyBuilder<WebhookEndpoint> reply,
                              Callback<CallReply> done) {
  submit_write<CallReply>(
      store_.writer(), Writer::Priority::kInteractive, kWebhookRowBytes,
      [id, call = std::move(call), reply = std::move(reply)](Tx& tx) {
        return remove_webhook(tx, id, call, reply);
      },
      std::move(done));
}

void WebhookEndpoints::rotate(const base::Uuid& id, const Caller& by, WebhookSecret secret,
                              std::chrono::milliseconds overlap, Callback<WebhookEndpoint> done) {
  submit_write<WebhookEndpoint>(
      store_.writer(), Writer::Priority::kInteractive, kWebhookRowBytes,
      [rotation = WebhookRotation{id, by, std::move(secret), overlap}](Tx& tx) {
        return rotate_webhook(tx, rotation);
      },
      std::move(done));
}

}  // namespace millrace::storage
