#include <array>
#include <utility>

#include "api/call.h"
#include "api/call_key.h"
#include "api/handlers.h"
#include "api/jobs/job_scope.h"
#include "api/routing/list_query.h"
#include "api/routing/page.h"
#include "api/webhooks/request_webhook.h"
#include "schemas/machines/machine.h"
#include "schemas/webhooks/webhook.h"
#include "storage/webhooks/webhook_deliveries.h"
#include "storage/webhooks/webhook_endpoints.h"

namespace millrace::api {
namespace {

using schemas::WebhookDelivery;
using schemas::WebhookEndpoint;

constexpr std::string_view kUrlField = "url";

std::string shown_endpoint(const WebhookEndpoint& endpoint) { return schemas::webhook_json(endpoint); }

// The id in the path; nullopt: 404 was sent.
std::optional<base::Uuid> path_webhook(Call& call) {
  const auto id = schemas::webhook_id_from(call.params.front());
  if (!id) call.fail(storage::no_such_webhook());
  return id;
}

std::optional<base::Uuid> path_delivery(Call& call) {
  const auto id = schemas::delivery_id_from(call.params.at(1));
  if (!id) call.fail(storage::no_such_delivery());
  return id;
}

// Normalises the URL. Error: webhooks may not have it.
base::Status check_webhook_url(const Context& context, std::string& url) {
  const net::FetchGuard& guard = *context.options.webhook_guard;
  if (auto good = guard.check_foreign_url(url, kUrlField); !good) return good;
  auto target = guard.check_url(url, kUrlField);
  if (!target) return target.error();
  url = std::move(target->url);
  return {};
}

// A callback that sends an endpoint with its new secret. `no-store`: proxies must not store it.
storage::Callback<WebhookEndpoint> secret_reply(CallPtr call, std::string secret) {
  return [call = std::move(call), secret = std::move(secret)](base::Result<WebhookEndpoint> endpoint) {
    if (!endpoint) return call->fail(endpoint.error());
    front::Reply reply = json_reply(200, schemas::webhook_json(*endpoint, secret));
    add_header(reply, "cache-control", "no-store");
    call->reply(std::move(reply));
  };
}

// The payload has what the key of the webhook may read; this key may be another one.
bool may_read_payload(const Principal& principal, const WebhookDelivery& delivery) {
  using schemas::Scope;
  if (schemas::machine_id_from(delivery.subject)) return principal.scopes.has(Scope::kExecRead);
  const auto job = schemas::JobId::parse(delivery.subject);
  return !job || (principal.scopes.has(Scope::kJobsRead) && principal.scopes.has(required_scope(job->kind)));
}

}  // namespace

std::span<const schemas::Field> webhook_list_fields() { return kPageFields; }

void create_webhook(Context& context, CallPtr call) {
  auto requested = schemas::parse_new_webhook(call->body());
  if (!requested) return call->refuse(requested.error());
  if (const auto good = check_webhook_url(context, *requested->url); !good) return call->fail(good.error());
  const base::WallTime now = context.store.clock().wall();
  WebhookEndpoint endpoint{.id = base::Uuid::make(now),
                           .tenant = call->tenant(),
                           .key_id = call->principal->key_id,
                           .url = *std::move(requested->url),
                           .events = std::move(requested->events).value_or(schemas::EventFilter()),
                           .kinds = std::move(requested->kinds).value_or(schemas::KindFilter()),
                           .public_key = {},
                           .created_at = now};
  NewWebhookKeys keys = make_webhook_keys(context, endpoint.id);
  storage::WebhookEndpoints(context.store)
      .create(std::move(endpoint), std::move(keys.stored), context.options.webhooks_per_tenant,
              secret_reply(call, std::move(keys.shown)));
}

void list_webhooks(Context& context, CallPtr call) {
  PageQuery query;
  std::optional<base::Uuid> before;
  if (!read_query(*call, kPageFields, &query)) return;
  if (!read_cursor(*call, query.cursor, &job_cursor_of, before)) return;
  const auto found = storage::WebhookEndpoints(context.store).list(call->tenant(), query.limit + 1, before);
  if (!found) return call->fail(found.error());
  send_list(context, *call, *found, query.limit, &shown_endpoint);
}

void get_webhook(Context& context, CallPtr call) {
  const auto id = path_webhook(*call);
  if (!id) return;
  const auto endpoint = storage::WebhookEndpoints(context.store).endpoint(call->tenant(), *id);
  if (!endpoint) return call->fail(endpoint.error());
  call->reply(json_reply(200, shown_endpoint(*endpoint)));
}

void change_webhook(Context& context, CallPtr call) {
  const auto id = path_webhook(*call);
  if (!id) return;
  auto key = optional_key(*call);
  if (!key) return call->fail(key.error());
  auto change = schemas::parse_webhook_change(call->body());
  if (!change) return call->refuse(change.error());
  if (change->url) {
    if (const auto good = check_webhook_url(context, *change->url); !good) return call->fail(good.error());
  }
  storage::WebhookEndpoints(context.store)
      .change(*id, *std::move(change), idempotent_call(context, *call, *std::move(key)), &shown_endpoint,
              reply_callback(call));
}

void delete_webhook(Context& context, CallPtr call) {
  const auto id = path_webhook(*call);
  if (!id) return;
  auto key = optional_key(*call);
  if (!key) return call->fail(key.error());
  storage::WebhookEndpoints(context.store)
      .remove(
          *id, idempotent_call(context, *call, *std::move(key)),
          [](const WebhookEndpoint& endpoint) { return schemas::deleted_webhook_json(endpoint.id); },
          reply_callback(call));
}

void rotate_webhook(Context& context, CallPtr call) {
  const auto id = path_webhook(*call);
  if (!id) return;
  NewWebhookKeys keys = make_webhook_keys(context, *id);
  storage::WebhookEndpoints(context.store)
      .rotate(*id, {.tenant = call->tenant(), .actor = call->principal->key_id}, std::move(keys.stored),
              context.options.webhook_rotation, secret_reply(call, std::move(keys.shown)));
}

void test_webhook(Context& context, CallPtr call) {
  const auto id = path_webhook(*call);
  if (!id) return;
  auto key = optional_key(*call);
  if (!key) return call->fail(key.error());
  storage::WebhookDeliveries(context.store)
      .test(*id, idempotent_call(context, *call, *std::move(key)), &schemas::webhook_delivery_json,
            reply_callback(call));
}

void list_webhook_deliveries(Context& context, CallPtr call) {
  PageQuery query;
  std::optional<base::Uuid> before;
  const auto id = path_webhook(*call);
  if (!id || !read_query(*call, kPageFields, &query)) return;
  if (!read_cursor(*call, query.cursor, &job_cursor_of, before)) return;
  const auto found =
      storage::WebhookDeliveries(context.store).list(call->tenant(), *id, query.limit + 1, before);
  if (!found) return call->fail(found.error());
  send_list(context, *call, *found, query.limit, &schemas::webhook_delivery_json);
}

void get_webhook_delivery(Context& context, CallPtr call) {
  const auto id = path_webhook(*call);
  if (!id) return;
  const auto delivery = path_delivery(*call);
  if (!delivery) return;
  auto found = storage::WebhookDeliveries(context.store).delivery(call->tenant(), *id, *delivery);
  if (!found) return call->fail(found.error());
  if (!may_read_payload(*call->principal, *found)) found->payload.clear();
  call->reply(json_reply(200, schemas::webhook_delivery_json(*found)));
}

void redeliver_webhook(Context& context, CallPtr call) {
  const auto id = path_webhook(*call);
  if (!id) return;
  const auto delivery = path_delivery(*call);
  if (!delivery) return;
  auto key = optional_key(*call);
  if (!key) return call->fail(key.error());
  storage::WebhookDeliveries(context.store)
      .redeliver(*id, *delivery, idempotent_call(context, *call, *std::move(key)),
                 &schemas::webhook_delivery_json, reply_callback(call));
}

}  // namespace millrace::api
