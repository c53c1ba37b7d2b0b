#include "storage/webhooks/webhook_deliveries.h"

#include <algorithm>
#include <map>
#include <utility>

#include "schemas/json/json_text.h"
#include "storage/admin/audit.h"
#include "storage/db/columns.h"
#include "storage/db/db.h"
#include "storage/jobs/idempotency.h"
#include "storage/jobs/maintenance_steps.h"
#include "storage/sql.h"
#include "storage/tenants/quota_ledger.h"
#include "storage/webhooks/webhook_endpoints.h"
#include "storage/webhooks/webhook_outbox.h"
#include "storage/writer/readers.h"
#include "storage/writer/store_clock.h"

namespace millrace::storage {
namespace {

using schemas::DeliveryState;
using schemas::WebhookDelivery;

constexpr std::size_t kDeliveryRowBytes = 4'096;

// What an endpoint needs to be sent something.
struct SendingEndpoint {
  std::string url, key_id, secret, previous_secret;
};

std::optional<SendingEndpoint> find_sending(Tx& tx, const base::Uuid& id) {
  auto s = tx.db.prepare(R"(
      SELECT url, key_id, secret, previous_secret, coalesce(previous_until, 0) FROM webhook_endpoints
      WHERE id = ?1 AND status = {webhook_enabled})"_sql);
  if (!s.bind(id).step()) return std::nullopt;
  SendingEndpoint found{.url = s.text(0), .key_id = s.text(1), .secret = s.blob(2), .previous_secret = {}};
  if (s.integer(4) > base::millis(tx.steady())) found.previous_secret = s.blob(3);
  return found;
}

// False: the API key that answers for the endpoint has ended, and the endpoint is disabled. A key that was
// rotated hands it to the key that replaced it.
bool has_live_key(Tx& tx, const base::Uuid& id, const std::string& key_id) {
  if (key_id.empty()) return true;
  const std::string key = newest_key(tx.db, key_id);
  {
    auto s = tx.db.prepare(R"(
        SELECT 1 FROM api_keys WHERE id = ?1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?2))"_sql);
    if (s.bind(key, base::millis(tx.now)).step()) {
      if (key != key_id)
        tx.db.prepare("UPDATE webhook_endpoints SET key_id = ?2 WHERE id = ?1").bind(id, key).run();
      return true;
    }
  }
  disable_webhook(tx.db, id,
                  "the API key " + key + " was revoked or has expired; enable the webhook with another key");
  tx.webhooks.reset(tx.db);
  return false;
}

std::vector<ClaimedDelivery> select_due(Tx& tx, const DeliveryClaim& claim) {
  std::vector<ClaimedDelivery> due;
  auto s = tx.db.prepare(R"(
      SELECT d.id, d.claims, d.attempts, d.payload FROM webhook_deliveries AS d
      WHERE d.endpoint = ?1 AND d.state = {delivery_pending} AND d.next_at <= ?2
          AND NOT EXISTS (SELECT 1 FROM webhook_deliveries AS earlier INDEXED BY webhook_deliveries_waiting
              WHERE earlier.endpoint = d.endpoint AND earlier.subject = d.subject AND earlier.seq < d.seq
                  AND earlier.state = {delivery_pending})
      ORDER BY d.next_at, d.id LIMIT ?3)"_sql);
  s.bind(claim.endpoint, base::millis(tx.steady()), claim.count);
  while (s.step()) {
    due.push_back({.id = s.uuid(0),
                   .endpoint = claim.endpoint,
                   .claim = s.integer(1) + 1,
                   .attempt = static_cast<int>(s.integer(2)) + 1,
                   .url = {},
                   .payload = s.text(3),
                   .secret = {},
                   .previous_secret = {}});
  }
  return due;
}

void claim_endpoint(Tx& tx, const DeliveryClaim& claim, std::chrono::milliseconds lease,
                    std::vector<ClaimedDelivery>& out) {
  const auto endpoint = find_sending(tx, claim.endpoint);
  if (!endpoint || !has_live_key(tx, claim.endpoint, endpoint->key_id)) return;
  for (ClaimedDelivery& due : select_due(tx, claim)) {
    tx.db
        .prepare(R"(
        UPDATE webhook_deliveries SET next_at = ?2, lease_until = ?2, claims = ?3, attempts = ?4,
            attempted_at = ?5
        WHERE id = ?1)"_sql)
        .bind(due.id, base::millis(tx.steady() + lease), due.claim, due.attempt, base::millis(tx.now))
        .run();
    due.url = endpoint->url;
    due.secret = endpoint->secret;
    due.previous_secret = endpoint->previous_secret;
    out.push_back(std::move(due));
  }
}

struct PlainDelivery {
  base::Uuid endpoint;
  std::int64_t created_at = 0;
  std::int64_t since = 0;  // steady time from which its retries count
};

// The delivery if it is still the claim's.
std::optional<PlainDelivery> find_claimed(Db& db, const base::Uuid& id, std::int64_t claim) {
  auto s = db.prepare(R"(
      SELECT d.endpoint, d.created_at, d.since, e.enabled_at
      FROM webhook_deliveries AS d JOIN webhook_endpoints AS e ON e.id = d.endpoint
      WHERE d.id = ?1 AND d.claims = ?2 AND d.state = {delivery_pending})"_sql);
  if (!s.bind(id, claim).step()) return std::nullopt;
  return PlainDelivery{s.uuid(0), s.integer(1), std::max(s.integer(2), s.integer(3))};
}

void end_delivery(Tx& tx, const base::Uuid& id, const base::Uuid& endpoint, const DeliveryOutcome& outcome) {
  const auto state = outcome.delivered ? DeliveryState::kDelivered : DeliveryState::kFailed;
  const auto error = null_if_empty(outcome.error);
  tx.db
      .prepare(R"(
      UPDATE webhook_deliveries SET state = ?2, http_status = ?3, error = ?4, ended_at = ?5, lease_until = 0
      WHERE id = ?1)"_sql)
      .bind(id, state, outcome.http_status, error, base::millis(tx.now))
      .run();
  tx.db
      .prepare(R"(
      UPDATE webhook_endpoints SET pending = pending - 1,
          delivered_at = CASE WHEN ?2 = 1 THEN ?3 ELSE delivered_at END
      WHERE id = ?1)"_sql)
      .bind(endpoint, outcome.delivered, base::millis(tx.now))
      .run();
}

bool has_delivered_since(Db& db, const base::Uuid& endpoint, std::int64_t time) {
  auto s = db.prepare("SELECT 1 FROM webhook_endpoints WHERE id = ?1 AND delivered_at >= ?2");
  return s.bind(endpoint, time).step();
}

bool settle_delivery(Tx& tx, const base::Uuid& id, std::int64_t claim, const DeliveryOutcome& outcome) {
  const auto row = find_claimed(tx.db, id, claim);
  if (!row) return false;
  const bool is_late = base::millis(tx.steady()) - row->since >= outcome.retry_for.count();
  if (!outcome.delivered && !outcome.is_gone && outcome.retry_in && !is_late) {
    tx.db
        .prepare(R"(
        UPDATE webhook_deliveries SET next_at = ?2, http_status = ?3, error = ?4, lease_until = 0
        WHERE id = ?1)"_sql)
        .bind(id, base::millis(tx.steady() + *outcome.retry_in), outcome.http_status, outcome.error)
        .run();
    return true;
  }
  end_delivery(tx, id, row->endpoint, outcome);
  if (outcome.delivered) return true;
  if (!outcome.is_gone && has_delivered_since(tx.db, row->endpoint, row->created_at)) return true;
  disable_webhook(tx.db, row->endpoint,
                  outcome.is_gone ? "the receiver answered 410 Gone"
                                  : "the last attempt of " + schemas::delivery_id(id) +
                                        " failed, and so did all others meanwhile: " + outcome.error);
  tx.webhooks.reset(tx.db);
  return true;
}

WebhookDelivery delivery_at(const Statement& s, std::chrono::milliseconds jumped) {
  WebhookDelivery delivery{.id = s.uuid(0),
                           .endpoint = s.uuid(1),
                           .type = s.text(2),
                           .subject = s.text(3),
                           .payload = {},
                           .state = static_cast<DeliveryState>(s.integer(4)),
                           .attempts = static_cast<int>(s.integer(5)),
                           .created_at = base::wall_from(s.integer(6)),
                           .attempted_at = optional_time(s.optional_integer(8)),
                           .ended_at = optional_time(s.optional_integer(9)),
                           .error = s.optional_text(11).value_or("")};
  if (delivery.state == DeliveryState::kPending) delivery.next_at = base::wall_from(s.integer(7)) + jumped;
  if (const auto status = s.optional_integer(10)) delivery.http_status = static_cast<int>(*status);
  return delivery;
}

std::optional<WebhookDelivery> find_delivery(Db& db, const base::Uuid& endpoint, const base::Uuid& id) {
  const auto jumped = clock_jumps(db);
  auto s = db.prepare(R"(
      SELECT id, endpoint, type, subject, state, attempts, created_at, next_at, attempted_at, ended_at,
          http_status, error
      FROM webhook_deliveries WHERE id = ?1 AND endpoint = ?2)"_sql);
  if (!s.bind(id, endpoint).step()) return std::nullopt;
  return delivery_at(s, jumped);
}

// The endpoint that the call names, if it may be sent something.
base::Result<schemas::WebhookEndpoint> enabled_webhook(Tx& tx, const IdempotentCall& call,
                                                       const base::Uuid& id) {
  auto endpoint = find_webhook(tx.db, call.tenant, id);
  if (!endpoint) return no_such_webhook();
  if (endpoint->status != schemas::WebhookStatus::kEnabled) return disabled_webhook(id, endpoint->reason);
  return *std::move(endpoint);
}

base::Result<CallReply> test_webhook(Tx& tx, const base::Uuid& id, const IdempotentCall& call,
                                     const ReplyBuilder<WebhookDelivery>& reply) {
  if (const auto before = find_stored_reply(tx, call)) return *before;
  const auto found = enabled_webhook(tx, call, id);
  if (!found) return found.error();
  auto& endpoints = tx.webhooks.endpoints(tx.db, call.tenant);
  const auto endpoint = std::ranges::find(endpoints, id, &WebhookOutbox::Endpoint::id);
  if (endpoint == endpoints.end()) return no_such_webhook();
  const std::string subject = schemas::webhook_id(id);
  const std::string data = schemas::JsonObject().member("id", subject).member("url", found->url).finish();
  const base::Uuid made = insert_delivery(
      tx, *endpoint, {.tenant = call.tenant, .type = schemas::kTestEvent, .subject = subject, .data = data});
  return store_reply(tx, call, reply(*find_delivery(tx.db, id, made)));
}

// Pending again, and due.
void make_due(Tx& tx, const base::Uuid& id) {
  tx.db
      .prepare(R"(
      UPDATE webhook_deliveries SET state = {delivery_pending}, since = ?2, next_at = ?2, attempts = 0,
          ended_at = NULL
      WHERE id = ?1 AND lease_until <= ?2)"_sql)
      .bind(id, base::millis(tx.steady()))
      .run();
  tx.commit.has_webhooks = true;
}

struct Redelivery {
  base::Uuid endpoint, delivery;
  IdempotentCall call;
  ReplyBuilder<WebhookDelivery> reply;
};

base::Result<CallReply> redeliver_webhook(Tx& tx, const Redelivery& again) {
  if (const auto before = find_stored_reply(tx, again.call)) return *before;
  const auto endpoint = enabled_webhook(tx, again.call, again.endpoint);
  if (!endpoint) return endpoint.error();
  const auto delivery = find_delivery(tx.db, again.endpoint, again.delivery);
  if (!delivery) return no_such_delivery();
  make_due(tx, again.delivery);
  if (delivery->state != DeliveryState::kPending)
    tx.db.prepare("UPDATE webhook_endpoints SET pending = pending + 1 WHERE id = ?1")
        .bind(again.endpoint)
        .run();
  return store_reply(tx, again.call, again.reply(*find_delivery(tx.db, again.endpoint, again.delivery)));
}

int delete_deliveries(Db& db, const std::vector<base::Uuid>& gone) {
  for (const base::Uuid& id : gone) db.prepare("DELETE FROM webhook_deliveries WHERE id = ?1").bind(id).run();
  return static_cast<int>(gone.size());
}

int drop_deleted_endpoints(Tx& tx, int limit) {
  std::optional<base::Uuid> endpoint;
  {
    auto s = tx.db.prepare("SELECT id FROM webhook_endpoints WHERE status = {webhook_deleted} LIMIT 1"_sql);
    if (s.step()) endpoint = s.uuid(0);
  }
  if (!endpoint) return 0;
  std::vector<base::Uuid> gone;
  {
    auto s = tx.db.prepare("SELECT id FROM webhook_deliveries WHERE endpoint = ?1 LIMIT ?2");
    s.bind(*endpoint, limit);
    gone = ids(s);
  }
  const int dropped = delete_deliveries(tx.db, gone);
  if (dropped >= limit) return dropped;
  tx.db.prepare("DELETE FROM webhook_requests WHERE endpoint = ?1").bind(*endpoint).run();
  tx.db.prepare("DELETE FROM webhook_endpoints WHERE id = ?1").bind(*endpoint).run();
  return limit;  // another one may be deleted, too
}

int drop_old_deliveries(Tx& tx, std::chrono::milliseconds age, int limit) {
  std::vector<base::Uuid> gone;
  std::map<base::Uuid, std::int64_t> pending;
  {
    auto s = tx.db.prepare(R"(
        SELECT d.id, d.endpoint, d.state FROM webhook_deliveries AS d
        WHERE d.created_at <= ?1 AND (d.state <> {delivery_pending} OR NOT EXISTS (
            SELECT 1 FROM webhook_endpoints AS e WHERE e.id = d.endpoint AND e.status = {webhook_enabled}))
        ORDER BY d.created_at LIMIT ?2)"_sql);
    s.bind(base::millis(tx.now - age), limit);
    while (s.step()) {
      gone.push_back(s.uuid(0));
      if (static_cast<DeliveryState>(s.integer(2)) == DeliveryState::kPending) ++pending[s.uuid(1)];
    }
  }
  for (const auto& [endpoint, count] : pending) {
    tx.db.prepare("UPDATE webhook_endpoints SET pending = pending - ?2 WHERE id = ?1")
        .bind(endpoint, count)
        .run();
  }
  return delete_deliveries(tx.db, gone);
}

}  // namespace

base::Error no_such_delivery() {
  return base::error(base::Code::kNotFound,
                     "There is no such delivery of this webhook, or it is older than `webhooks.retention`");
}

base::Result<std::vector<base::Uuid>> WebhookDeliveries::due(int limit) {
  return read(store_.readers(), [&](Db& db) {
    const base::WallTime steady = store_.clock().wall() - clock_jumps(db);
    auto s = db.prepare(R"(
        SELECT e.id FROM webhook_endpoints AS e
        WHERE e.status = {webhook_enabled} AND EXISTS (SELECT 1 FROM webhook_deliveries AS d
            WHERE d.endpoint = e.id AND d.state = {delivery_pending} AND d.next_at <= ?1
                AND NOT EXISTS (SELECT 1 FROM webhook_deliveries AS earlier INDEXED BY webhook_deliveries_waiting
                    WHERE earlier.endpoint = d.endpoint AND earlier.subject = d.subject
                        AND earlier.seq < d.seq AND earlier.state = {delivery_pending}))
        LIMIT ?2)"_sql);
    s.bind(base::millis(steady), limit);
    return ids(s);
  });
}

void WebhookDeliveries::claim(std::vector<DeliveryClaim> claims, std::chrono::milliseconds lease,
                              Callback<std::vector<ClaimedDelivery>> done) {
  submit_write<std::vector<ClaimedDelivery>>(
      store_.writer(), Writer::Priority::kUrgent, kDeliveryRowBytes,
      [claims = std::move(claims), lease](Tx& tx) -> base::Result<std::vector<ClaimedDelivery>> {
        std::vector<ClaimedDelivery> claimed;
        for (const DeliveryClaim& claim : claims) claim_endpoint(tx, claim, lease, claimed);
        return claimed;
      },
      std::move(done));
}

void WebhookDeliveries::settle(const ClaimedDelivery& delivery, DeliveryOutcome outcome,
                               Callback<bool> done) {
  submit_write<bool>(
      store_.writer(), Writer::Priority::kUrgent, kDeliveryRowBytes,
      [id = delivery.id, claim = delivery.claim, outcome = std::move(outcome)](Tx& tx) -> base::Result<bool> {
        return settle_delivery(tx, id, claim, outcome);
      },
      std::move(done));
}

base::Result<std::vector<WebhookDelivery>> WebhookDeliveries::list(const std::string& tenant,
                                                                   const base::Uuid& endpoint, int limit,
                                                                   std::optional<base::Uuid> before) {
  const base::Uuid start = before.value_or(max_id());
  auto found = read(store_.readers(), [&](Db& db) -> std::optional<std::vector<WebhookDelivery>> {
    if (!find_webhook(db, tenant, endpoint)) return std::nullopt;
    std::vector<WebhookDelivery> deliveries;
    const auto jumped = clock_jumps(db);
    auto s = db.prepare(R"(
        SELECT id, endpoint, type, subject, state, attempts, created_at, next_at, attempted_at, ended_at,
            http_status, error
        FROM webhook_deliveries WHERE endpoint = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3)"_sql);
    s.bind(endpoint, start, limit);
    while (s.step()) deliveries.push_back(delivery_at(s, jumped));
    return deliveries;
  });
  if (!found) return found.error();
  if (!*found) return no_such_webhook();
  return **std::move(found);
}

base::Result<WebhookDelivery> WebhookDeliveries::delivery(const std::string& tenant,
                                                          const base::Uuid& endpoint, const base::Uuid& id) {
  const auto found = read(store_.readers(), [&](Db& db) -> base::Result<WebhookDelivery> {
    if (!find_webhook(db, tenant, endpoint)) return no_such_webhook();
    auto delivery = find_delivery(db, endpoint, id);
    if (!delivery) return no_such_delivery();
    auto s = db.prepare("SELECT payload FROM webhook_deliveries WHERE id = ?1");
    if (s.bind(id).step()) delivery->payload = s.text(0);
    return *std::move(delivery);
  });
  return found ? *found : found.error();
}

void WebhookDeliveries::test(base::Uuid endpoint, IdempotentCall call, ReplyBuilder<WebhookDelivery> reply,
                             Callback<CallReply> done) {
  submit_write<CallReply>(
      store_.writer(), Writer::Priority::kInteractive, kDeliveryRowBytes,
      [endpoint, call = std::move(call), reply = std::move(reply)](Tx& tx) {
        return test_webhook(tx, endpoint, call, reply);
      },
      std::move(done));
}

void WebhookDeliveries::redeliver(base::Uuid endpoint, base::Uuid delivery, IdempotentCall call,
                                  ReplyBuilder<WebhookDelivery> reply, Callback<CallReply> done) {
  submit_write<CallReply>(
      store_.writer(), Writer::Priority::kInteractive, kDeliveryRowBytes,
      [again = Redelivery{endpoint, delivery, std::move(call), std::move(reply)}](Tx& tx) {
        return redeliver_webhook(tx, again);
      },
      std::move(done));
}

void WebhookDeliveries::drop_deleted(int limit, Callback<int> done) {
  submit_step(store_, Writer::Priority::kUrgent, std::move(done),
              [limit](Tx& tx) { return drop_deleted_endpoints(tx, limit); });
}

void WebhookDeliveries::drop_old(std::chrono::milliseconds age, int limit, Callback<int> done) {
  submit_step(store_, Writer::Priority::kUrgent, std::move(done),
              [age, limit](Tx& tx) { return may_delete_rows(tx) ? drop_old_deliveries(tx, age, limit) : 0; });
}

}  // namespace millrace::storage
