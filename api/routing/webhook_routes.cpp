#include <array>

#include "api/handlers.h"
#include "api/routing/route.h"

namespace millrace::api {
namespace {

using schemas::Scope;

constexpr std::string_view kWebhookExample =
    R"({"id":"we-01932b6c-8a00-7000-8000-000000000001","object":"webhook","url":"https://app.example/hooks","events":["job.*"],)"
    R"("kinds":[],"on_request":false,"status":"enabled","public_key":"whpk_A4WInZQnZwXCBTpAKsWgoKqxlHXHVIL1yXEckPJMHJg=","pending":0,)"
    R"("created_at":"2025-01-31T08:00:00.000Z","delivered_at":"2025-01-31T08:00:04.000Z"})";
constexpr std::string_view kNewWebhookExample =
    R"({"id":"we-01932b6c-8a00-7000-8000-000000000001","object":"webhook","url":"https://app.example/hooks","events":["job.*"],)"
    R"("kinds":[],"on_request":false,"status":"enabled","secret":"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw3dY4kWxT0eo=",)"
    R"("public_key":"whpk_A4WInZQnZwXCBTpAKsWgoKqxlHXHVIL1yXEckPJMHJg=","pending":0,"created_at":"2025-01-31T08:00:00.000Z"})";
constexpr std::string_view kDeliveryExample =
    R"({"id":"msg_01932b6c-8a00-7000-8000-000000000002","webhook":"we-01932b6c-8a00-7000-8000-000000000001",)"
    R"("event":"job.succeeded","subject":"ocr-01932b6c-8a00-7000-8000-000000000001","state":"delivered","attempts":1,)"
    R"("created_at":"2025-01-31T08:00:03.000Z","attempted_at":"2025-01-31T08:00:03.000Z","ended_at":"2025-01-31T08:00:04.000Z",)"
    R"("http_status":200})";

constexpr std::array kWebhookReplies{ReplySpec{200, "The webhook", kJsonType, "Webhook", kWebhookExample}};
constexpr std::array kNewWebhookReplies{ReplySpec{200, "The webhook with its secret, which is shown only now",
                                                  kJsonType, "Webhook", kNewWebhookExample}};
constexpr std::array kWebhookListReplies{
    ReplySpec{200, "One page of webhooks, newest first", kJsonType, "WebhookList"}};
constexpr std::array kDeletedWebhookReplies{
    ReplySpec{200, "The webhook is deleted; nothing more is sent to it", kJsonType, "DeletedWebhook"}};
constexpr std::array kDeliveryReplies{
    ReplySpec{200, "The delivery", kJsonType, "WebhookDelivery", kDeliveryExample}};
constexpr std::array kDeliveryListReplies{ReplySpec{
    200, "One page of deliveries, newest first, without payloads", kJsonType, "WebhookDeliveryList"}};

constexpr std::string_view kWebhookAbout =
    "Events are sent as Standard Webhooks, with signatures `v1` (HMAC-SHA-256, key `secret`) and `v1a` "
    "(Ed25519, "
    "`public_key`), at least once and with the same `webhook-id`. The body also has the members of OpenAI's "
    "events. "
    "When the API key that added or last changed the webhook ends, it is disabled.";

// clang-format off
const std::array kWebhookRoutes{
    get("/v1/webhooks", Scope::kWebhooksRead, Lane::kPool, &list_webhooks,
        {.id = "listWebhooks", .tag = "webhooks", .summary = "List webhooks", .replies = kWebhookListReplies,
         .query = webhook_list_fields()}),
    Route{Method::kPost, "/v1/webhooks", Access::kScope, Scope::kWebhooksWrite, BodyKind::kJson, kSmallBody, Lane::kBody,
          &create_webhook,
          {.id = "createWebhook", .tag = "webhooks", .summary = "Add a webhook", .replies = kNewWebhookReplies,
           .body = "NewWebhook", .state = true, .about = kWebhookAbout}},
    get("/v1/webhooks/{webhook_id}", Scope::kWebhooksRead, Lane::kPool, &get_webhook,
        {.id = "getWebhook", .tag = "webhooks", .summary = "Get a webhook", .replies = kWebhookReplies}),
    write_route(Method::kPatch, "/v1/webhooks/{webhook_id}", Scope::kWebhooksWrite, Lane::kBody, &change_webhook,
        {.id = "changeWebhook", .tag = "webhooks", .summary = "Change, disable or enable a webhook", .replies = kWebhookReplies,
         .headers = "IdempotencyKeyReply", .body = "WebhookChange", .state = true, .job = JobReplies::kReplayed}),
    delete_route("/v1/webhooks/{webhook_id}", Scope::kWebhooksWrite, Lane::kFront, &delete_webhook,
        {.id = "deleteWebhook", .tag = "webhooks", .summary = "Delete a webhook and its deliveries",
         .replies = kDeletedWebhookReplies, .headers = "IdempotencyKeyReply", .state = true, .job = JobReplies::kReplayed}),
    write_route(Method::kPost, "/v1/webhooks/{webhook_id}/test", Scope::kWebhooksWrite, Lane::kFront, &test_webhook,
        {.id = "testWebhook", .tag = "webhooks", .summary = "Send an event of type `webhook.test`", .replies = kDeliveryReplies,
         .headers = "IdempotencyKeyReply", .state = true, .job = JobReplies::kReplayed}),
    write_route(Method::kPost, "/v1/webhooks/{webhook_id}/rotate", Scope::kWebhooksWrite, Lane::kFront, &rotate_webhook,
        {.id = "rotateWebhook", .tag = "webhooks",
         .summary = "Replace the secret; for `webhooks.rotation` the one before signs, too", .replies = kNewWebhookReplies}),
    get("/v1/webhooks/{webhook_id}/deliveries", Scope::kWebhooksRead, Lane::kPool, &list_webhook_deliveries,
        {.id = "listWebhookDeliveries", .tag = "webhooks", .summary = "List the deliveries of a webhook",
         .replies = kDeliveryListReplies, .query = webhook_list_fields()}),
    get("/v1/webhooks/{webhook_id}/deliveries/{delivery_id}", Scope::kWebhooksRead, Lane::kPool, &get_webhook_delivery,
        {.id = "getWebhookDelivery", .tag = "webhooks", .summary = "Get a delivery with its payload",
         .replies = kDeliveryReplies}),
    write_route(Method::kPost, "/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver", Scope::kWebhooksWrite,
        Lane::kFront, &redeliver_webhook,
        {.id = "redeliverWebhook", .tag = "webhooks", .summary = "Send a delivery again, with the same id",
         .replies = kDeliveryReplies, .headers = "IdempotencyKeyReply", .state = true, .job = JobReplies::kReplayed}),
};
// clang-format on

}  // namespace

std::span<const Route> webhook_routes() { return kWebhookRoutes; }

}  // namespace millrace::api
