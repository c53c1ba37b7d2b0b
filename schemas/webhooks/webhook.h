#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "platform/base/clock.h"
#include "platform/base/ids.h"
#include "schemas/error_body.h"
#include "schemas/field.h"
#include "schemas/jobs/job.h"

// Webhooks (docs/design/http-contract.md, "Webhooks"): what a receiver is sent, and how endpoints are shown.
namespace millrace::schemas {

inline constexpr std::size_t kWebhookUrlMax = 2'048;  // bytes
inline constexpr std::size_t kWebhookFilterMax = 32;  // names in a filter

enum class WebhookStatus : std::uint8_t {
  kEnabled = 0,
  kDisabled = 1,  // by its owner or by the gateway; WebhookEndpoint::reason says why
  kDeleted = 2,   // its rows are deleted by maintenance; never shown
};

enum class DeliveryState : std::uint8_t { kPending = 0, kDelivered = 1, kFailed = 2 };
std::string_view name(DeliveryState state);

// Names of events, or of groups of them: "job.succeeded", "job.*". Empty: all.
using EventFilter = std::vector<std::string>;
// Names of job kinds. Empty: all. Events that are not about jobs pass.
using KindFilter = std::vector<std::string>;

// All events that a filter may name. `webhook.test` is not among them: it passes every filter.
std::span<const std::string_view> webhook_events();
inline constexpr std::string_view kTestEvent = "webhook.test";

// True if an event of this type, about a job of `kind` (absent: about something else), is sent.
bool passes(const EventFilter& events, const KindFilter& kinds, std::string_view type,
            std::optional<Kind> kind);
// A filter as it is stored: its names, separated by spaces.
std::string filter_text(const std::vector<std::string>& names);
std::vector<std::string> filter_from(std::string_view text);

struct WebhookEndpoint {
  base::Uuid id;
  std::string tenant;
  std::string key_id;  // the API key that answers for it: when that key ends, the endpoint is disabled
  std::string url;
  EventFilter events{};
  KindFilter kinds{};
  bool on_request = false;  // made by a request that names its URL; it is sent only the ends of such jobs
  WebhookStatus status = WebhookStatus::kEnabled;
  std::string reason{};    // why it is disabled; empty: its owner did it
  std::string public_key;  // Ed25519, 32 bytes
  // During a rotation: the key that still signs, too, and until when.
  std::string previous_public_key{};
  std::optional<base::WallTime> previous_until{};
  std::int64_t pending = 0;  // deliveries that are due or wait to be sent again
  base::WallTime created_at{};
  std::optional<base::WallTime> delivered_at{};  // the last success
};

struct WebhookDelivery {
  base::Uuid id;
  base::Uuid endpoint;
  std::string type;
  std::string subject;  // id of the job, batch or machine; deliveries of one subject are sent in order
  std::string payload;  // the body; empty in lists
  DeliveryState state = DeliveryState::kPending;
  int attempts = 0;
  base::WallTime created_at{};
  std::optional<base::WallTime> next_at{};  // of a pending one
  std::optional<base::WallTime> attempted_at{}, ended_at{};
  std::optional<int> http_status{};  // of the last answer
  std::string error{};               // of the last attempt; empty: none, or it succeeded
};

// "we-" and a lower-case UUID.
std::optional<base::Uuid> webhook_id_from(std::string_view text);
std::string webhook_id(const base::Uuid& id);
// "msg_" and a lower-case UUID: the header `webhook-id`, the same for each attempt.
std::optional<base::Uuid> delivery_id_from(std::string_view text);
std::string delivery_id(const base::Uuid& id);
// "whsec_" or "whpk_" and the bytes in base64.
std::string webhook_secret_text(std::string_view bytes);
std::string webhook_public_key_text(std::string_view bytes);

// The endpoint as JSON; `secret`: shown only when it was made (webhook_secret_text).
std::string webhook_json(const WebhookEndpoint& endpoint, std::string_view secret = {});
std::string deleted_webhook_json(const base::Uuid& id);
std::string webhook_delivery_json(const WebhookDelivery& delivery);

// The body of a webhook: the members of Standard Webhooks (type, timestamp, data) and of OpenAI's events (id,
// object, created_at, type, data). `data`: a JSON object.
struct WebhookPayload {
  base::Uuid event;
  std::string_view type;
  base::WallTime at;
  std::string_view data;
};
std::string webhook_payload_json(const WebhookPayload& payload);

// The bodies of POST and PATCH /v1/webhooks. Absent members do not change.
struct WebhookChange {
  std::optional<std::string> url;
  std::optional<EventFilter> events;
  std::optional<KindFilter> kinds;
  std::optional<WebhookStatus> status;  // kEnabled or kDisabled; only of PATCH
};
tl::expected<WebhookChange, Refusal> parse_new_webhook(std::string& body);
tl::expected<WebhookChange, Refusal> parse_webhook_change(std::string& body);
std::span<const Field> new_webhook_fields();
std::span<const Field> webhook_change_fields();

}  // namespace millrace::schemas
