#include "storage/webhooks/webhook_outbox.h"

#include <algorithm>
#include <array>
#include <utility>

#include "schemas/jobs/job_json.h"
#include "schemas/jobs/job_scope.h"
#include "storage/jobs/job_queries.h"
#include "storage/jobs/job_rows.h"
#include "storage/sql.h"
#include "storage/webhooks/request_webhooks.h"
#include "storage/writer/writer.h"

namespace millrace::storage {
namespace {

constexpr Sql kFindWebhookState = "SELECT enabled FROM webhook_state WHERE one = ?1";
constexpr std::int64_t kTheStateRow = 1;

bool has_enabled_webhook(Db& db) {
  auto s = db.prepare_without_flush(kFindWebhookState);
  return s.bind(kTheStateRow).step() && s.integer(0) > 0;
}

std::vector<WebhookOutbox::Endpoint> enabled_of(Db& db, std::string_view tenant) {
  std::vector<WebhookOutbox::Endpoint> found;
  auto s = db.prepare_without_flush(R"(
      SELECT e.id, e.events, e.kinds, e.pending, e.on_request, k.scopes
      FROM webhook_endpoints AS e LEFT JOIN api_keys AS k ON k.id = e.key_id
      WHERE e.tenant = ?1 AND e.status = {webhook_enabled} ORDER BY e.id)"_sql);
  s.bind(tenant);
  while (s.step()) {
    found.push_back({.id = s.uuid(0),
                     .events = schemas::filter_from(s.text(1)),
                     .kinds = schemas::filter_from(s.text(2)),
                     .on_request = s.integer(4) != 0,
                     .pending = s.integer(3)});
    // Without a key, the gateway itself has made it.
    if (!s.is_null(5)) found.back().scopes = scopes_from(s.text(5));
  }
  return found;
}

std::int64_t next_seq(Db& db, const base::Uuid& endpoint, std::string_view subject) {
  auto s = db.prepare_without_flush(
      "SELECT coalesce(max(seq), 0) + 1 FROM webhook_deliveries WHERE endpoint = ?1 AND subject = ?2");
  s.bind(endpoint, subject).step();
  return s.integer(0);
}

struct DeliveryText {
  const WebhookEvent& event;
  const std::string& payload;
};

base::Uuid insert_row(Tx& tx, WebhookOutbox::Endpoint& endpoint, const DeliveryText& text) {
  const base::Uuid id = base::Uuid::make(tx.now);
  const std::int64_t seq = next_seq(tx.db, endpoint.id, text.event.subject);
  tx.db
      .prepare_without_flush(R"(
          INSERT INTO webhook_deliveries (id, endpoint, tenant, subject, seq, type, payload, state, created_at,
              since, next_at)
          VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, {delivery_pending}, ?8, ?9, ?9))"_sql)
      .bind(id, endpoint.id, text.event.tenant, text.event.subject, seq, text.event.type, text.payload,
            base::millis(tx.now), base::millis(tx.steady()))
      .run();
  ++endpoint.pending;
  ++endpoint.added;
  tx.commit.has_webhooks = true;
  return id;
}

// The end of a batch is one event; its lines send none.
bool is_batch_line(Db& db, const base::Uuid& job) {
  auto s = db.prepare_without_flush("SELECT 1 FROM batch_lines WHERE job = ?1 LIMIT 1");
  return s.bind(job).step();
}

std::string payload_of(const Tx& tx, const WebhookEvent& event) {
  return schemas::webhook_payload_json(
      {.event = base::Uuid::make(tx.now), .type = event.type, .at = tx.now, .data = event.data});
}

// A full endpoint takes nothing more; it is disabled at the end of the transaction.
bool takes(const WebhookOutbox::Endpoint& endpoint, const WebhookEvent& event) {
  if (endpoint.pending >= kWebhookPendingMax) return false;
  if (event.kind && !endpoint.scopes.has(schemas::Scope::kJobsRead)) return false;
  if (endpoint.on_request) return event.requested && *event.requested == endpoint.id;
  if (event.type.starts_with("machine.") && !endpoint.scopes.has(schemas::Scope::kExecRead)) return false;
  return schemas::passes(endpoint.events, endpoint.kinds, event.type, event.kind);
}

}  // namespace

std::vector<WebhookOutbox::Endpoint>& WebhookOutbox::endpoints(Db& db, std::string_view tenant) {
  if (!has_any_) has_any_ = has_enabled_webhook(db);
  if (!*has_any_) return none_;
  const auto known = std::ranges::find(tenants_, tenant, &Tenant::name);
  if (known != tenants_.end()) return known->endpoints;
  return tenants_.emplace_back(Tenant{std::string(tenant), enabled_of(db, tenant)}).endpoints;
}

void WebhookOutbox::reset(Db& db) {
  write(db);
  has_any_.reset();
  tenants_.clear();
}

void WebhookOutbox::write(Db& db) {
  for (Tenant& tenant : tenants_) {
    for (Endpoint& endpoint : tenant.endpoints) {
      const bool is_full = endpoint.pending >= kWebhookPendingMax;
      if (endpoint.added == 0 && !is_full) continue;
      db.prepare("UPDATE webhook_endpoints SET pending = pending + ?2 WHERE id = ?1")
          .bind(endpoint.id, std::exchange(endpoint.added, 0))
          .run();
      if (!is_full) continue;
      disable_webhook(
          db, endpoint.id,
          std::to_string(kWebhookPendingMax) +
              " deliveries wait for it, the most that one webhook may have: its receiver is too slow");
    }
  }
}

void prefetch_webhooks(Db& db) { db.prefetch(kFindWebhookState, kTheStateRow); }

bool has_webhooks(Tx& tx, std::string_view tenant) { return !tx.webhooks.endpoints(tx.db, tenant).empty(); }

base::Uuid insert_delivery(Tx& tx, WebhookOutbox::Endpoint& endpoint, const WebhookEvent& event) {
  return insert_row(tx, endpoint, {event, payload_of(tx, event)});
}

void record_webhook_event(Tx& tx, const WebhookEvent& event) {
  std::string payload;
  for (WebhookOutbox::Endpoint& endpoint : tx.webhooks.endpoints(tx.db, event.tenant)) {
    if (!takes(endpoint, event)) continue;
    if (payload.empty()) payload = payload_of(tx, event);
    insert_row(tx, endpoint, {event, payload});
  }
}

void record_job_end(Tx& tx, const Store::Options& options, const JobRow& row) {
  std::vector<WebhookOutbox::Endpoint>& endpoints = tx.webhooks.endpoints(tx.db, row.tenant);
  if (endpoints.empty()) return;
  const std::string type = "job." + std::string(schemas::public_name(row.status));
  WebhookEvent event{.tenant = row.tenant, .type = type, .subject = {}, .data = {}, .kind = row.kind};
  if (std::ranges::any_of(endpoints, &WebhookOutbox::Endpoint::on_request))
    event.requested = take_request_webhook(tx.db, row.id);
  if (std::ranges::none_of(endpoints, [&](const auto& endpoint) { return takes(endpoint, event); })) return;
  if (is_batch_line(tx.db, row.id)) return;
  const auto view = find_named_view(tx.db, row.id, options);
  if (!view) return;
  const schemas::JobNames names(view->id, options.public_url);
  event.subject = names.id;
  const base::Uuid id = base::Uuid::make(tx.now);
  std::array<std::string, 2> payloads;  // without and with the contents of the job
  for (WebhookOutbox::Endpoint& endpoint : endpoints) {
    if (!takes(endpoint, event)) continue;
    std::string& payload = payloads.at(endpoint.scopes.has(schemas::required_scope(row.kind)) ? 1 : 0);
    if (payload.empty()) {
      const std::string data = schemas::job_json(schemas::shown_with(endpoint.scopes, *view), names);
      payload = schemas::webhook_payload_json({.event = id, .type = type, .at = tx.now, .data = data});
    }
    insert_row(tx, endpoint, {event, payload});
  }
}

schemas::ScopeSet scopes_from(std::string_view stored) {
  schemas::ScopeSet scopes;
  for (const std::string& each : schemas::filter_from(stored)) {
    if (const auto scope = schemas::scope_named(each)) scopes.add(*scope);
  }
  return scopes;
}

void disable_webhook(Db& db, const base::Uuid& endpoint, std::string_view reason) {
  db.prepare(R"(
      UPDATE webhook_endpoints SET status = {webhook_disabled}, reason = ?2
      WHERE id = ?1 AND status = {webhook_enabled})"_sql)
      .bind(endpoint, reason)
      .run();
  count_enabled_webhooks(db);
}

void count_enabled_webhooks(Db& db) {
  db.prepare(R"(
      UPDATE webhook_state
      SET enabled = (SELECT count(*) FROM webhook_endpoints WHERE status = {webhook_enabled})
      WHERE one = 1)"_sql)
      .run();
}

}  // namespace millrace::storage
