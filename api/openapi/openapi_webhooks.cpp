#include <nlohmann/json.hpp>

#include "api/openapi/openapi.h"
#include "schemas/webhooks/webhook.h"

namespace millrace::api {
namespace {

using nlohmann::json;

constexpr std::string_view kWebhookSchemas = R"json({
  "Webhook": {"type": "object", "required": ["id", "object", "url", "events", "kinds", "status", "public_key", "pending", "created_at"],
    "properties": {
      "id": {"type": "string"}, "object": {"const": "webhook"}, "url": {"type": "string"},
      "events": {"type": "array", "items": {"type": "string"}, "description": "Empty: all"},
      "kinds": {"type": "array", "items": {"type": "string"}, "description": "Kinds of jobs; empty: all"},
      "on_request": {"type": "boolean", "description": "A request has named the URL (x-millrace-webhook-url): it is sent only the ends of such jobs"},
      "status": {"enum": ["enabled", "disabled"]},
      "reason": {"type": "string", "description": "Why the gateway has disabled it"},
      "secret": {"type": "string", "description": "The key of signature `v1`; only in the reply that made it"},
      "public_key": {"type": "string", "description": "Checks signature `v1a`"},
      "previous_public_key": {"type": "string", "description": "During a rotation: the one before, which signs, too"},
      "previous_until": {"type": "string", "format": "date-time"},
      "pending": {"type": "integer", "description": "Deliveries that are not sent yet, or wait to be sent again"},
      "created_at": {"type": "string", "format": "date-time"},
      "delivered_at": {"type": "string", "format": "date-time", "description": "The last success"}}},
  "WebhookList": {"type": "object", "required": ["items"], "properties": {
    "items": {"type": "array", "items": {"$ref": "#/components/schemas/Webhook"}}, "next_cursor": {"type": "string"}}},
  "DeletedWebhook": {"type": "object", "required": ["id", "object", "deleted"], "properties": {
    "id": {"type": "string"}, "object": {"const": "webhook"}, "deleted": {"const": true}}},
  "WebhookDelivery": {"type": "object",
    "required": ["id", "webhook", "event", "subject", "state", "attempts", "created_at"], "properties": {
      "id": {"type": "string", "description": "The header `webhook-id`"}, "webhook": {"type": "string"},
      "event": {"type": "string"},
      "subject": {"type": "string", "description": "Id of the job, batch or machine; its events are sent in order"},
      "state": {"enum": ["pending", "delivered", "failed"]},
      "attempts": {"type": "integer"}, "created_at": {"type": "string", "format": "date-time"},
      "attempted_at": {"type": "string", "format": "date-time", "description": "The last attempt"},
      "next_at": {"type": "string", "format": "date-time", "description": "Of a pending one: the next attempt, or the end of the one that runs"},
      "ended_at": {"type": "string", "format": "date-time"},
      "http_status": {"type": "integer", "description": "Of the last answer"},
      "error": {"type": "string", "description": "Why the last attempt failed"},
      "payload": {"type": "object", "description": "The body; not in lists"}}},
  "WebhookDeliveryList": {"type": "object", "required": ["items"], "properties": {
    "items": {"type": "array", "items": {"$ref": "#/components/schemas/WebhookDelivery"}}, "next_cursor": {"type": "string"}}}
})json";

}  // namespace

json openapi_webhook_schemas() {
  json shapes = json::parse(kWebhookSchemas);
  shapes["NewWebhook"] = schemas::json_schema(schemas::new_webhook_fields());
  shapes["WebhookChange"] = schemas::json_schema(schemas::webhook_change_fields());
  return shapes;
}

}  // namespace millrace::api
