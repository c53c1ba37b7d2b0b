#include "schemas/webhooks/webhook.h"

#include <algorithm>

#include "platform/base/base64.h"
#include "schemas/json/json_text.h"
#include "schemas/prefixed_id.h"

namespace millrace::schemas {
namespace {

constexpr std::string_view kEndpointPrefix = "we-", kDeliveryPrefix = "msg_", kEventPrefix = "evt_";

constexpr std::array<std::string_view, 16> kEvents{
    "job.succeeded",    "job.failed",         "job.cancelled",     "job.expired",
    "batch.completed",  "batch.failed",       "batch.expired",     "batch.cancelled",
    "machine.accepted", "machine.starting",   "machine.running",   "machine.stopping",
    "machine.sleeping", "machine.destroying", "machine.destroyed", "machine.failed"};

bool names_event(std::string_view filter, std::string_view type) {
  if (!filter.ends_with('*')) return filter == type;
  return type.starts_with(filter.substr(0, filter.size() - 1));
}

std::string names_json(const std::vector<std::string>& names) {
  std::string text = "[";
  for (const std::string& each : names) {
    if (text.size() > 1) text += ',';
    append_json_string(text, each);
  }
  return text += ']';
}

}  // namespace

std::span<const std::string_view> webhook_events() { return kEvents; }

std::string_view name(DeliveryState state) {
  switch (state) {
    case DeliveryState::kPending:
      return "pending";
    case DeliveryState::kDelivered:
      return "delivered";
    case DeliveryState::kFailed:
      return "failed";
  }
  return {};
}

bool passes(const EventFilter& events, const KindFilter& kinds, std::string_view type,
            std::optional<Kind> kind) {
  if (type == kTestEvent) return true;
  const bool is_named = events.empty() || std::ranges::any_of(events, [&](const auto& each) {
                          return names_event(each, type);
                        });
  if (!is_named) return false;
  return !kind || kinds.empty() || std::ranges::find(kinds, name(*kind)) != kinds.end();
}

std::string filter_text(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& each : names) text.append(text.empty() ? "" : " ").append(each);
  return text;
}

std::vector<std::string> filter_from(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    names.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return names;
}

std::optional<base::Uuid> webhook_id_from(std::string_view text) { return uuid_after(kEndpointPrefix, text); }
std::string webhook_id(const base::Uuid& id) { return prefixed_id(kEndpointPrefix, id); }
std::optional<base::Uuid> delivery_id_from(std::string_view text) {
  return uuid_after(kDeliveryPrefix, text);
}
std::string delivery_id(const base::Uuid& id) { return prefixed_id(kDeliveryPrefix, id); }

std::string webhook_secret_text(std::string_view bytes) { return "whsec_" + base::base64_encode(bytes); }
std::string webhook_public_key_text(std::string_view bytes) { return "whpk_" + base::base64_encode(bytes); }

std::string webhook_json(const WebhookEndpoint& endpoint, std::string_view secret) {
  JsonObject out;
  out.member("id", webhook_id(endpoint.id))
      .member("object", "webhook")
      .member("url", endpoint.url)
      .raw("events", names_json(endpoint.events))
      .raw("kinds", names_json(endpoint.kinds))
      .flag("on_request", endpoint.on_request)
      .member("status", endpoint.status == WebhookStatus::kEnabled ? "enabled" : "disabled");
  if (!endpoint.reason.empty()) out.member("reason", endpoint.reason);
  if (!secret.empty()) out.member("secret", secret);
  out.member("public_key", webhook_public_key_text(endpoint.public_key));
  if (endpoint.previous_until) {
    out.member("previous_public_key", webhook_public_key_text(endpoint.previous_public_key))
        .member("previous_until", base::rfc3339(*endpoint.previous_until));
  }
  out.number("pending", endpoint.pending).member("created_at", base::rfc3339(endpoint.created_at));
  if (endpoint.delivered_at) out.member("delivered_at", base::rfc3339(*endpoint.delivered_at));
  return out.finish();
}

std::string deleted_webhook_json(const base::Uuid& id) {
  return JsonObject().member("id", webhook_id(id)).member("object", "webhook").flag("deleted", true).finish();
}

std::string webhook_delivery_json(const WebhookDelivery& delivery) {
  JsonObject out;
  out.member("id", delivery_id(delivery.id))
      .member("webhook", webhook_id(delivery.endpoint))
      .member("event", delivery.type)
      .member("subject", delivery.subject)
      .member("state", name(delivery.state))
      .number("attempts", delivery.attempts)
      .member("created_at", base::rfc3339(delivery.created_at));
  if (delivery.attempted_at) out.member("attempted_at", base::rfc3339(*delivery.attempted_at));
  if (delivery.next_at) out.member("next_at", base::rfc3339(*delivery.next_at));
  if (delivery.ended_at) out.member("ended_at", base::rfc3339(*delivery.ended_at));
  if (delivery.http_status) out.number("http_status", *delivery.http_status);
  if (!delivery.error.empty()) out.member("error", delivery.error);
  if (!delivery.payload.empty()) out.raw("payload", delivery.payload);
  return out.finish();
}

std::string webhook_payload_json(const WebhookPayload& payload) {
  const auto unix_time = std::chrono::duration_cast<std::chrono::seconds>(payload.at.time_since_epoch());
  JsonObject out(payload.data.size() + 256);
  return out.member("id", prefixed_id(kEventPrefix, payload.event))
      .member("object", "event")
      .number("created_at", unix_time.count())
      .member("type", payload.type)
      .member("timestamp", base::rfc3339(payload.at))
      .raw("data", payload.data)
      .finish();
}

}  // namespace millrace::schemas
