#include <nlohmann/json.hpp>

#include "api/openapi/openapi.h"
#include "schemas/admin_request.h"
#include "schemas/tenants/tenant_request.h"
#include "storage/admin/admin_queries.h"

namespace millrace::api {
namespace {

using nlohmann::json;

constexpr std::string_view kAdminSchemas = R"json({
  "AdminEnds": {"type": "object", "required": ["succeeded", "failed", "commands_failed", "cancelled", "expired"], "properties": {
    "succeeded": {"type": "integer"}, "failed": {"type": "integer"},
    "commands_failed": {"type": "integer", "description": "Commands that exited with an error, `command_failed`. They are not in `failed`"},
    "cancelled": {"type": "integer"},
    "expired": {"type": "integer"}}},
  "AdminSpread": {"type": "object", "description": "Seconds, over the jobs that ended within the last hour; empty if none did",
    "properties": {"p50": {"type": "number"}, "p95": {"type": "number"}}},
  "AdminMinutes": {"type": "array", "minItems": 60, "maxItems": 60, "items": {"type": "integer"},
    "description": "One count per clock minute, oldest first. The last one is the minute of `at`, which is still running"},
  "AdminKind": {"type": "object",
    "required": ["kind", "minute", "hour", "day", "wait_seconds", "run_seconds", "succeeded_by_minute", "failed_by_minute"],
    "properties": {
      "kind": {"type": "string"}, "queued": {"type": "integer"}, "running": {"type": "integer"},
      "waiting": {"type": "integer", "description": "Jobs that were split into parts and wait for them"},
      "oldest_queued_seconds": {"type": "number"},
      "minute": {"$ref": "#/components/schemas/AdminEnds"}, "hour": {"$ref": "#/components/schemas/AdminEnds"},
      "day": {"$ref": "#/components/schemas/AdminEnds"},
      "wait_seconds": {"$ref": "#/components/schemas/AdminSpread"},
      "run_seconds": {"$ref": "#/components/schemas/AdminSpread"},
      "succeeded_by_minute": {"$ref": "#/components/schemas/AdminMinutes"},
      "failed_by_minute": {"$ref": "#/components/schemas/AdminMinutes"}}},
  "AdminPart": {"type": "object", "required": ["ok"], "properties": {
    "ok": {"type": "boolean"}, "detail": {"type": "string"},
    "means": {"type": "string", "description": "What this component is"},
    "what_to_do": {"type": "string", "description": "How to fix it; only if it is not ok"}}},
  "AdminOverview": {"type": "object", "required": ["at", "kinds", "store", "health"], "properties": {
    "at": {"type": "string", "format": "date-time"},
    "kinds": {"type": "array", "items": {"$ref": "#/components/schemas/AdminKind"}},
    "counted_since": {"type": "string", "format": "date-time",
      "description": "Present if more jobs ended within the day than can be counted: the counts start at this time"},
    "store": {"type": "object", "required": ["db_bytes", "wal_bytes", "disk_free_bytes", "queue_depth"], "properties": {
      "db_bytes": {"type": "integer"}, "wal_bytes": {"type": "integer"}, "disk_free_bytes": {"type": "integer"},
      "queue_depth": {"type": "integer", "description": "Operations queued for the writer"}}},
    "health": {"type": "object", "required": ["store", "dispatch", "disk"], "properties": {
      "store": {"$ref": "#/components/schemas/AdminPart"}, "dispatch": {"$ref": "#/components/schemas/AdminPart"},
      "disk": {"$ref": "#/components/schemas/AdminPart"}}}}},
  "AdminPartition": {"type": "object", "required": ["partition", "lag"], "properties": {
    "partition": {"type": "integer"},
    "lag": {"type": "integer", "description": "Tokens that no worker has processed yet"}}},
  "AdminQueue": {"type": "object", "required": ["kind", "queued", "running", "waiting", "slots", "used", "paused"],
    "properties": {
      "kind": {"type": "string"}, "queued": {"type": "integer"}, "running": {"type": "integer"},
      "waiting": {"type": "integer"}, "oldest_queued_seconds": {"type": "number"},
      "slots": {"type": "integer", "description": "Slots of live workers; a draining worker counts only those in use"},
      "used": {"type": "integer"}, "paused": {"type": "boolean"},
      "paused_at": {"type": "string", "format": "date-time"},
      "partitions": {"type": "array", "items": {"$ref": "#/components/schemas/AdminPartition"},
        "description": "With Kafka: the partitions of the kind's topic that are assigned to live workers"}}},
  "AdminQueueList": {"type": "object", "required": ["items"], "properties": {
    "items": {"type": "array", "items": {"$ref": "#/components/schemas/AdminQueue"}}}},
  "AdminLease": {"type": "object", "required": ["job", "kind", "tenant", "attempt", "over"],
    "description": "The right of a worker to run one attempt. Heartbeats renew it; an expired lease is revoked",
    "properties": {
      "job": {"type": "string"}, "kind": {"type": "string"}, "tenant": {"type": "string"},
      "part": {"type": "integer", "description": "The part of `job` that it runs, from 0"},
      "attempt": {"type": "integer", "description": "Attempt of the job, or of the part"},
      "since": {"type": "string", "format": "date-time", "description": "Start of the attempt, if known"},
      "over": {"type": "boolean"},
      "expires_in_seconds": {"type": "number",
        "description": "Negative: expired this long ago. Absent: the lease is from before the host's last boot, and expired"},
      "expires_at": {"type": "string", "format": "date-time"}}},
  "AdminWorker": {"type": "object",
    "required": ["name", "host", "version", "live", "draining", "seen_at", "heartbeat_age_seconds", "slots", "leases_held", "leases"],
    "properties": {
      "name": {"type": "string"}, "host": {"type": "string"}, "version": {"type": "string"}, "live": {"type": "boolean"},
      "draining": {"type": "boolean", "description": "It claims no new jobs"},
      "seen_at": {"type": "string", "format": "date-time"}, "heartbeat_age_seconds": {"type": "number"},
      "slots": {"type": "array", "items": {"type": "object", "required": ["kind", "slots", "used"], "properties": {
        "kind": {"type": "string"}, "slots": {"type": "integer"}, "used": {"type": "integer"},
        "partitions": {"type": "array", "items": {"$ref": "#/components/schemas/AdminPartition"}}}}},
      "leases_held": {"type": "integer", "description": "Number of all its leases"},
      "leases": {"type": "array", "items": {"$ref": "#/components/schemas/AdminLease"},
        "description": "Its leases, oldest job first. If there are more than fit, those that expire first"}}},
  "AdminWorkerList": {"type": "object", "required": ["items"], "properties": {
    "items": {"type": "array", "items": {"$ref": "#/components/schemas/AdminWorker"}}}},
  "AdminHost": {"type": "object", "required": ["name", "live", "maintains", "machines", "processes"], "properties": {
    "name": {"type": "string"}, "live": {"type": "boolean"},
    "maintains": {"type": "boolean", "description": "It does the maintenance of the store"},
    "machines": {"type": "integer", "description": "Machines that run on it"},
    "processes": {"type": "array", "items": {"type": "object",
      "required": ["process_id", "version", "roles", "live", "started_at", "seen_at", "report_age_seconds"],
      "properties": {
        "process_id": {"type": "string", "format": "uuid"}, "version": {"type": "string"},
        "roles": {"type": "array", "items": {"type": "string", "enum": ["api", "models", "machines"]}},
        "live": {"type": "boolean"}, "started_at": {"type": "string", "format": "date-time"},
        "seen_at": {"type": "string", "format": "date-time"}, "report_age_seconds": {"type": "number"}}}}}},
  "AdminHostList": {"type": "object", "required": ["items"], "properties": {
    "items": {"type": "array", "description": "Empty if the gateway has one host",
      "items": {"$ref": "#/components/schemas/AdminHost"}}}},
  "AdminDeadList": {"type": "object", "required": ["items"], "properties": {
    "items": {"type": "array", "items": {"type": "object", "required": ["kind", "code", "type", "jobs", "newest"], "properties": {
      "kind": {"type": "string"}, "code": {"type": "string", "description": "`code` of their error"},
      "type": {"type": "string", "enum": ["invalid_request_error", "permission_error", "rate_limit_error", "server_error"],
        "description": "As in an error body. `invalid_request_error`: the request itself caused the failure"},
      "jobs": {"type": "integer"}, "newest": {"$ref": "#/components/schemas/Job"}}}}}},
  "AdminProviderList": {"type": "object", "required": ["items", "mcp_servers"], "properties": {
    "mcp_servers": {"type": "array", "description": "Servers that chat requests may name", "items": {"type": "object",
      "required": ["slug"], "properties": {"slug": {"type": "string"}}}},
    "items": {"type": "array", "items": {
    "type": "object",
    "required": ["model", "provider", "upstream_model", "circuit", "failures_in_a_row", "running", "waiting"],
    "properties": {
      "model": {"type": "string"}, "provider": {"type": "string"}, "upstream_model": {"type": "string"},
      "circuit": {"type": "string", "enum": ["closed", "half_open", "open"]},
      "circuit_of": {"type": "string", "enum": ["chat", "embeddings", "images", "speech", "transcription", "ocr"],
        "description": "Each has its own circuit; the worst state is reported"},
      "failures_in_a_row": {"type": "integer"}, "running": {"type": "integer"}, "waiting": {"type": "integer"},
      "opens_again_seconds": {"type": "number", "description": "Time until the circuit allows a trial call"},
      "latency_seconds": {"type": "number", "description": "Smoothed latency of complete, successful calls"},
      "price": {"type": "object", "description": "US dollars: per million tokens; image, audio_second, character, page and request per unit", "properties": {
        "prompt": {"type": "number"}, "completion": {"type": "number"}, "cached": {"type": "number"},
        "cache_write": {"type": "number"}, "reasoning": {"type": "number"}, "image": {"type": "number"},
        "audio_second": {"type": "number"}, "character": {"type": "number"}, "page": {"type": "number"},
        "request": {"type": "number"}}}}}}}},
  "AdminBulk": {"type": "object", "required": ["matched", "changed"], "properties": {
    "matched": {"type": "integer"}, "changed": {"type": "integer"},
    "already_retried": {"type": "integer", "description": "Selected jobs that had a retry already. They are not in `matched`"},
    "unchanged": {"type": "object", "additionalProperties": {"type": "integer"}, "description": "How many of the matching jobs stayed unchanged, by reason: `not_retryable` (a kind that is not stored as a whole, such as commands), `succeeded`, `not_ended`, `already_ended`, `already_cancelling`, or the code of an error. Absent: none"},
    "next_cursor": {"type": "string"}}},
  "ApiKey": {"type": "object", "required": ["id", "name", "tenant", "scopes", "created_at"], "properties": {
    "id": {"type": "string"}, "name": {"type": "string"}, "tenant": {"type": "string"},
    "scopes": {"type": "array", "items": {"type": "string"}},
    "created_at": {"type": "string", "format": "date-time"}, "expires_at": {"type": "string", "format": "date-time"},
    "revoked_at": {"type": "string", "format": "date-time"}, "last_used_at": {"type": "string", "format": "date-time"},
    "ip_ranges": {"type": "array", "items": {"type": "string"}, "description": "Absent: all addresses"},
    "models": {"type": "array", "items": {"type": "string"}, "description": "Absent: all"},
    "mcp_servers": {"type": "array", "items": {"type": "string"}, "description": "Absent: all"},
    "rotated_to": {"type": "string", "description": "The id of the key that replaced it"},
    "limits": {"$ref": "#/components/schemas/Limits"}, "budget": {"$ref": "#/components/schemas/Budget"}}},
  "ApiKeyList": {"type": "object", "required": ["items"], "properties": {
    "items": {"type": "array", "items": {"$ref": "#/components/schemas/ApiKey"}}}},
  "QuotaUse": {"type": "object", "required": ["cost_usd", "reserved_usd", "requests", "tokens", "pages", "audio_seconds",
      "running_jobs", "stored_jobs", "stored_bytes", "machines", "vcpu", "memory_mib", "storage_gib", "ssh_sessions"],
      "description": "The first six are counted in the period; without a period since midnight UTC", "properties": {
    "cost_usd": {"type": "number", "description": "Spent on models, by their prices in the configuration"},
    "reserved_usd": {"type": "number", "description": "The most that calls which have not ended may cost. Only under a budget"},
    "requests": {"type": "integer", "description": "Requests with a valid key"},
    "tokens": {"type": "integer", "description": "Of chats and embeddings, in and out"},
    "audio_seconds": {"type": "number", "description": "Of transcribed recordings"},
    "running_jobs": {"type": "integer", "description": "Accepted jobs that have not ended"},
    "stored_jobs": {"type": "integer"},
    "stored_bytes": {"type": "integer",
      "description": "Requests, documents, results, output and artifacts of the stored jobs, and image files"},
    "pages": {"type": "integer", "description": "Of OCR"},
    "machines": {"type": "integer"}, "vcpu": {"type": "number"}, "memory_mib": {"type": "integer"},
    "storage_gib": {"type": "integer"}, "ssh_sessions": {"type": "integer", "description": "Waiting or valid"}}},
  "Usage": {"allOf": [{"$ref": "#/components/schemas/QuotaUse"}, {"type": "object", "required": ["tenant", "period", "limits", "key"],
    "properties": {"tenant": {"type": "string"}, "period": {"type": "string"}, "limits": {"$ref": "#/components/schemas/Limits"},
      "budget": {"anyOf": [{"$ref": "#/components/schemas/Budget"}, {"type": "null"}]},
      "budget_used_usd": {"type": "number", "description": "Spent and reserved in the period of the budget"},
      "key": {"allOf": [{"$ref": "#/components/schemas/QuotaUse"}, {"type": "object", "required": ["id", "limits"],
        "properties": {"id": {"type": "string"}, "limits": {"$ref": "#/components/schemas/Limits"},
          "budget": {"anyOf": [{"$ref": "#/components/schemas/Budget"}, {"type": "null"}]},
          "budget_used_usd": {"type": "number"}}}],
        "description": "The key of the request"}}}]},
  "Tenant": {"type": "object", "required": ["name", "limits", "effective_limits", "usage"], "properties": {
    "name": {"type": "string"},
    "limits": {"$ref": "#/components/schemas/Limits", "description": "The limits that were set"},
    "effective_limits": {"$ref": "#/components/schemas/Limits", "description": "All limits that apply"},
    "budget": {"anyOf": [{"$ref": "#/components/schemas/Budget"}, {"type": "null"}]},
    "budget_used_usd": {"type": "number", "description": "Spent and reserved in the period of the budget"},
    "usage": {"$ref": "#/components/schemas/QuotaUse"}}},
  "TenantList": {"type": "object", "required": ["items"], "properties": {
    "items": {"type": "array", "items": {"$ref": "#/components/schemas/Tenant"}}}},
  "MadeApiKey": {"allOf": [{"$ref": "#/components/schemas/ApiKey"}, {"type": "object", "required": ["key"],
    "properties": {"key": {"type": "string", "description": "Shown once and never stored"}}}]}
})json";

// Unknown fields are refused.
json closed_object(std::span<const schemas::Field> table) {
  json schema = schemas::json_schema(table);
  schema["additionalProperties"] = false;
  return schema;
}

}  // namespace

json openapi_admin_schemas() {
  json shapes = json::parse(kAdminSchemas);
  shapes["AdminWorker"]["properties"]["leases"]["maxItems"] = storage::kLeasesShownMax;
  shapes["AdminBulkRequest"] = closed_object(schemas::bulk_request_fields());
  shapes["AdminBulkRequest"]["examples"] =
      json::array({{{"filter", {{"kind", "ocr"}, {"status", "failed"}}}}});
  shapes["ApiKeyRequest"] = closed_object(schemas::key_request_fields());
  shapes["ApiKeyRequest"]["examples"] = json::array({{{"name", "ci"}, {"scopes", {"ocr", "jobs:read"}}}});
  shapes["ApiKeyChange"] = closed_object(schemas::key_change_fields());
  shapes["ApiKeyChange"]["examples"] =
      json::array({{{"models", {"openai/*"}}, {"ip_ranges", nullptr}}, {{"scopes", {"ocr"}}}});
  shapes["Limits"] = json::parse(schemas::limits_schema());
  shapes["Budget"] = json::parse(schemas::budget_schema());
  shapes["TenantRequest"] = closed_object(schemas::tenant_request_fields());
  shapes["TenantRequest"]["examples"] =
      json::array({{{"limits", {{"running_jobs", 1000}, {"machines", 4}, {"stored_bytes", "unlimited"}}},
                    {"budget", {{"usd", 20}, {"period", "month"}, {"soft_usd", 15}}}}});
  shapes["ApiKeyRotation"] = closed_object(schemas::rotation_fields());
  return shapes;
}

}  // namespace millrace::api
