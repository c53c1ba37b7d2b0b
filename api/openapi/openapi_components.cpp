#include <nlohmann/json.hpp>

#include "api/openapi/openapi.h"
#include "schemas/media/ocr_request.h"

namespace millrace::api {
namespace {

using nlohmann::json;

// The schemas of responses. Those of requests come from their field tables.
constexpr std::string_view kReplySchemas = R"json({
  "Text": {"type": "string"},
  "Object": {"type": "object"},
  "Root": {"type": "object", "required": ["name", "version", "docs", "openapi", "health"], "properties": {
    "name": {"type": "string"}, "version": {"type": "string"}, "docs": {"type": "string"},
    "openapi": {"type": "string"}, "health": {"type": "string"}}},
  "Status": {"type": "object", "required": ["status"], "properties": {"status": {"type": "string"}}},
  "Part": {"type": "object", "required": ["status"], "properties": {
    "status": {"type": "string", "enum": ["ok", "degraded", "full"]},
    "detail": {"type": "string", "description": "What is wrong; this and the next are absent if it is ok"},
    "means": {"type": "string", "description": "What this component is"},
    "what_to_do": {"type": "string", "description": "How to fix it"}}},
  "Readiness": {"type": "object", "required": ["status", "store", "dispatch", "disk"], "properties": {
    "status": {"type": "string", "enum": ["ok", "degraded", "unavailable", "draining"]},
    "store": {"$ref": "#/components/schemas/Part"},
    "dispatch": {"$ref": "#/components/schemas/Part"},
    "disk": {"$ref": "#/components/schemas/Part"}}},
  "Version": {"type": "object", "required": ["name", "version"], "properties": {
    "name": {"type": "string"}, "version": {"type": "string"}}},
  "Model": {"type": "object",
    "required": ["id", "object", "created", "created_at", "owned_by", "provider", "display_name", "type", "capabilities"],
    "properties": {
      "id": {"type": "string"}, "object": {"const": "model"}, "created": {"type": "integer"},
      "created_at": {"type": "string", "format": "date-time"}, "owned_by": {"type": "string"},
      "provider": {"type": "string"}, "display_name": {"type": "string"}, "type": {"const": "base"},
      "alias_of": {"type": "string", "description": "The model's own name, if `id` is a further name of it"},
      "languages": {"type": "array", "items": {"type": "string"},
        "description": "Of a local model that transcribes: the languages that it knows, ISO 639-1"},
      "capabilities": {"type": "object", "additionalProperties": {"type": "boolean"},
        "description": "`audio`: the model can transcribe audio (`transcription`), synthesize speech (`speech`), or both"}}},
  "ModelList": {"type": "object", "required": ["object", "data"], "properties": {
    "object": {"const": "list"}, "data": {"type": "array", "items": {"$ref": "#/components/schemas/Model"}}}},
  "OcrImage": {"type": "object",
    "required": ["id", "top_left_x", "top_left_y", "bottom_right_x", "bottom_right_y"],
    "properties": {
      "id": {"type": "string"}, "top_left_x": {"type": ["integer", "null"]}, "top_left_y": {"type": ["integer", "null"]},
      "bottom_right_x": {"type": ["integer", "null"]}, "bottom_right_y": {"type": ["integer", "null"]},
      "image_base64": {"type": "string", "description": "A data URI"}},
    "additionalProperties": true, "description": "Other members are those of a provider's reply, such as `image_annotation`"},
  "OcrPage": {"type": "object", "required": ["index", "markdown", "images", "dimensions"], "properties": {
    "index": {"type": "integer", "minimum": 0, "description": "The page's number in the document, from 0"},
    "markdown": {"type": "string"},
    "images": {"type": "array", "items": {"$ref": "#/components/schemas/OcrImage"}},
    "dimensions": {"type": ["object", "null"], "required": ["dpi", "height", "width"], "properties": {
      "dpi": {"type": "integer"}, "height": {"type": "integer"}, "width": {"type": "integer"}}},
    "warnings": {"type": "array", "description": "Why the text of the page may be wrong or incomplete; missing if nothing is known", "items": {
      "type": "object", "required": ["code", "message"], "properties": {
        "code": {"type": "string", "enum": ["other_language", "page_timeout", "unsure"]},
        "message": {"type": "string", "description": "One sentence, which says what to do about it"}}}},
    "error": {"$ref": "#/components/schemas/JobError"},
    "tables": {"type": "array", "description": "Of a provider's model with `table_format`; the markdown refers to them by id, as in `[tbl-0.md](tbl-0.md)`", "items": {
      "type": "object", "properties": {"id": {"type": "string"}, "content": {"type": "string"}, "format": {"type": "string"}}}},
    "header": {"type": "string"}, "footer": {"type": "string"},
    "hyperlinks": {"type": "array", "items": {}}, "blocks": {"type": "array", "items": {"type": "object"}}},
    "additionalProperties": true, "description": "Other members are those of a provider's reply, such as `confidence_scores`"},
  "OcrReply": {"type": "object", "required": ["pages", "model", "usage_info"], "properties": {
    "pages": {"type": "array", "items": {"$ref": "#/components/schemas/OcrPage"}},
    "model": {"type": "string"},
    "usage_info": {"type": "object", "required": ["pages_processed", "doc_size_bytes"], "properties": {
      "pages_processed": {"type": "integer", "description": "Pages without an error"},
      "doc_size_bytes": {"type": ["integer", "null"], "description": "null in a partial result"}}},
    "document_annotation": {"description": "Of a provider's model with `document_annotation_format`"}},
    "additionalProperties": true, "description": "Other members are those of a provider's reply"},
  "JobError": {"type": "object", "required": ["code", "message"], "properties": {
    "code": {"type": "string"}, "message": {"type": "string"},
    "param": {"type": "string", "description": "The request field that caused the error, such as `pages`"}}},
  "Job": {"type": "object", "required": ["id", "kind", "status", "created_at", "expires_at", "attempt", "links"],
    "properties": {
      "id": {"type": "string"}, "kind": {"type": "string", "enum": ["ocr", "exec", "chat", "stt"]},
      "name": {"type": "string", "maxLength": 255,
        "description": "Name of its document or recording, as in the request, at most the first 255 bytes; the command of an execution; the first words of the last user message of a chat"},
      "status": {"type": "string",
        "enum": ["scheduled", "wake_in_progress", "queued", "running", "succeeded", "failed", "cancelled", "expired"],
        "description": "`scheduled`: it waits for its `run_at`. `wake_in_progress`: an execution that is queued until its machine is awake"},
      "paused": {"type": "boolean", "description": "True while the job is queued and an operator has paused its kind"},
      "unserved": {"type": "boolean", "description": "True while the job is queued, its kind is not paused, and no live worker serves its kind. The job stays queued"},
      "created_at": {"type": "string", "format": "date-time"},
      "run_at": {"type": "string", "format": "date-time", "description": "When it starts; only while it is `scheduled`"},
      "started_at": {"type": "string", "format": "date-time"},
      "completed_at": {"type": "string", "format": "date-time"},
      "expires_at": {"type": "string", "format": "date-time",
        "description": "After the job has ended: when its result is deleted. Before: the deadline for its start"},
      "attempt": {"type": "integer", "description": "How often the job was started; above 1 it was restarted. If a document or recording was processed in parts, the run that joins the parts does not count"},
      "progress": {"type": "object", "required": ["done", "total"], "properties": {
        "done": {"type": "integer"}, "total": {"type": "integer"}}},
      "error": {"$ref": "#/components/schemas/JobError"},
      "answered_by": {"type": "string", "description": "The model that answered. Only for kind chat, like `upstream_attempts`, `dropped_params`, `usage` and `cost_usd`"},
      "upstream_attempts": {"type": "integer"}, "dropped_params": {"type": "string"},
      "usage": {"$ref": "#/components/schemas/ChatUsage"}, "cost_usd": {"type": "number"},
      "model": {"type": "string"}, "retry_of": {"type": "string"},
      "metadata": {"type": "object", "additionalProperties": {"type": "string"}, "description": "As in the request"},
      "retried_by": {"type": "string", "description": "The newest retry of a job that did not succeed"}, "cancel_requested": {"type": "boolean"},
      "tenant": {"type": "string", "description": "Only in lists for administrators"},
      "links": {"type": "object", "required": ["self", "result", "events", "cancel"], "properties": {
        "self": {"type": "string"}, "result": {"type": "string"}, "events": {"type": "string"},
        "cancel": {"type": "string"},
        "retry": {"type": "string", "description": "Absent for kind exec: submit a new execution instead"}}}}},
  "JobRequest": {"type": "object",
    "required": ["job_id", "kind", "method", "path", "content_type", "body", "left_out"], "properties": {
      "job_id": {"type": "string"}, "kind": {"type": "string", "enum": ["ocr", "exec", "chat", "stt"]},
      "method": {"const": "POST"}, "path": {"type": "string"},
      "content_type": {"type": "string", "enum": ["application/json", "multipart/form-data"]},
      "body": {"type": "object", "description": "The JSON body, or the fields of the form"},
      "left_out": {"type": "array", "items": {"type": "string"},
        "description": "Places where something is missing from `body`, such as `document.document_url`"},
      "file": {"type": "object", "description": "The document or recording that was uploaded", "properties": {
        "name": {"type": "string", "description": "The name that the client sent"},
        "media_type": {"type": "string", "description": "Detected from the file's bytes; absent once they are deleted"}}}}},
  "JobList": {"type": "object", "required": ["items"], "properties": {
    "items": {"type": "array", "items": {"$ref": "#/components/schemas/Job"}}, "next_cursor": {"type": "string"}}},
  "JobEvent": {"type": "object", "required": ["version", "at", "type", "data"], "properties": {
    "version": {"type": "integer", "minimum": 1}, "at": {"type": "string", "format": "date-time"},
    "type": {"type": "string"}, "data": {"type": "object"}}},
  "JobEventList": {"type": "object", "required": ["items"], "properties": {
    "items": {"type": "array", "items": {"$ref": "#/components/schemas/JobEvent"}}, "next_cursor": {"type": "string"}}},
  "ErrorObject": {"type": "object", "required": ["message", "type", "param", "code"], "properties": {
    "message": {"type": "string"}, "type": {"type": "string"},
    "param": {"type": ["string", "null"]}, "code": {"type": ["string", "null"]}}},
  "Error": {"type": "object", "required": ["error"], "properties": {
    "error": {"$ref": "#/components/schemas/ErrorObject"}}},
  "ValidationError": {"type": "object", "required": ["error", "detail"], "properties": {
    "error": {"$ref": "#/components/schemas/ErrorObject"},
    "detail": {"type": "array", "items": {"type": "object", "required": ["loc", "msg", "type"], "properties": {
      "loc": {"type": "array", "items": {"type": "string"}}, "msg": {"type": "string"},
      "type": {"type": "string"}, "input": {}, "ctx": {"type": "object"}}}}}}
})json";

constexpr std::string_view kParameters = R"json({
  "RequestId": {"name": "x-request-id", "in": "header", "description": "Echoed; at most 128 of A-Z a-z 0-9 . _ -",
    "schema": {"type": "string", "maxLength": 128, "pattern": "^[A-Za-z0-9._-]+$"}},
  "Prefer": {"name": "prefer", "in": "header", "description": "`respond-async`: an immediate 202 with the job. `respond-async, wait=SECONDS`: the result if it is ready within that time, else 202. `wait=SECONDS`: the result, or 504 after that time. A wait is never longer than the wait of a request without this header",
    "schema": {"type": "string"}, "example": "respond-async"},
  "PreferWait": {"name": "prefer", "in": "header",
    "description": "`wait=SECONDS`: responds when the job is over, at the latest after 60 s",
    "schema": {"type": "string"}, "example": "wait=30"},
  "IdempotencyKey": {"name": "idempotency-key", "in": "header",
    "description": "A request with the same key and the same body, byte for byte, joins the running job or returns its result. A different body is a 409",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255}},
  "IdempotencyKeyRequired": {"name": "idempotency-key", "in": "header", "required": true,
    "description": "A request with the same key and body returns the resource that the first one created, in its current state. A different body is a 409",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255}},
  "IdempotencyKeyReply": {"name": "idempotency-key", "in": "header",
    "description": "A request with the same key and body changes nothing and returns the first response. A different body is a 409",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255}},
  "IdempotencyKeyReplyRequired": {"name": "idempotency-key", "in": "header", "required": true,
    "description": "A request with the same key and body changes nothing and returns the first response. A different body is a 409",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255}},
  "Range": {"name": "range", "in": "header", "description": "One byte range; several ranges are ignored",
    "schema": {"type": "string"}, "example": "bytes=0-1023"},
  "IfRange": {"name": "if-range", "in": "header", "description": "An ETag: if it does not match, `Range` is ignored and the whole file is sent",
    "schema": {"type": "string"}},
  "IfNoneMatch": {"name": "if-none-match", "in": "header", "description": "If the current ETag is in this list, the response is 304",
    "schema": {"type": "string"}},
  "LastEventId": {"name": "last-event-id", "in": "header", "description": "The last `id` that the client received; the stream resumes after it",
    "schema": {"type": "string"}},
  "WebhookUrl": {"name": "x-millrace-webhook-url", "in": "header", "description": "The end of the job is sent to this URL, whose host `webhooks.allowed_hosts` must have",
    "schema": {"type": "string", "format": "uri", "maxLength": 2048}},
  "Traceparent": {"name": "traceparent", "in": "header", "description": "W3C trace context, propagated to the worker",
    "schema": {"type": "string"}}
})json";

constexpr std::string_view kHeaders = R"json({
  "RequestId": {"description": "The request's id, as in the gateway's log", "schema": {"type": "string"}},
  "RetryAfter": {"description": "Seconds", "schema": {"type": "integer"}},
  "RetryAfterMs": {"description": "Milliseconds, below 60000", "schema": {"type": "integer"}},
  "Job": {"description": "The id of the job that the response is about", "schema": {"type": "string"}},
  "Location": {"description": "The URL of the job", "schema": {"type": "string"}},
  "PreferenceApplied": {"description": "The preferences that were applied: `respond-async`, `wait=SECONDS` or both. Only for a request with `wait`", "schema": {"type": "string"}},
  "Replayed": {"description": "The Idempotency-Key was used before: the response shows what that request created, or repeats its response",
    "schema": {"const": "true"}},
  "DroppedParams": {"description": "Parameters that the provider did not receive as sent, separated by commas. Without a suffix: ignored. `;clamped`: limited to the allowed range. `;emulated`: implemented by the gateway",
    "schema": {"type": "string"}},
  "AnsweredBy": {"description": "The model that answered", "schema": {"type": "string"}},
  "Attempts": {"description": "Number of calls to providers", "schema": {"type": "integer"}},
  "CostUsd": {"description": "US dollars, if the price is known", "schema": {"type": "number"}},
  "AccelBuffering": {"description": "`no`: proxies do not buffer the stream", "schema": {"const": "no"}},
  "ShouldRetry": {"description": "`false`: the same request cannot succeed later", "schema": {"const": "false"}},
  "RateLimit": {"description": "Requests per minute of this API key, if `limits.requests_per_minute` is set",
    "schema": {"type": "integer"}},
  "RateRemaining": {"description": "Requests that are left now", "schema": {"type": "integer"}},
  "RateReset": {"description": "Time until the limit is fully available again, such as `1s` or `6m0s`", "schema": {"type": "string"}},
  "Etag": {"description": "The SHA-256 of the bytes, in quotes", "schema": {"type": "string"}},
  "AcceptRanges": {"description": "`bytes`", "schema": {"const": "bytes"}},
  "CacheControl": {"description": "How caches may store the response, and whether they must revalidate it", "schema": {"type": "string"}},
  "ContentDisposition": {"description": "`attachment`, with the file's name", "schema": {"type": "string"}},
  "ContentRange": {"description": "The bytes sent and the total size: `bytes 0-1023/4096`; `bytes */4096` if no byte is in the range",
    "schema": {"type": "string"}},
  "ContentSecurityPolicy": {"description": "What a browser may load and run with this response", "schema": {"type": "string"}},
  "OpenerPolicy": {"description": "`same-origin`", "schema": {"const": "same-origin"}},
  "ReferrerPolicy": {"description": "`no-referrer`", "schema": {"const": "no-referrer"}},
  "Vary": {"description": "`accept`: the header selects between the page and JSON", "schema": {"const": "accept"}},
  "ContentTypeOptions": {"description": "`nosniff`", "schema": {"const": "nosniff"}},
  "AcceptEncoding": {"description": "`identity`, if the request body had another Content-Encoding", "schema": {"type": "string"}},
  "Allow": {"description": "The methods of this path", "schema": {"type": "string"}},
  "WwwAuthenticate": {"description": "`Bearer`", "schema": {"type": "string"}}
})json";

constexpr std::string_view kSecurity = R"json({
  "bearer": {"type": "http", "scheme": "bearer", "description": "`Authorization: Bearer mr_live_…`"},
  "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"}
})json";

}  // namespace

json openapi_components() {
  json shapes = json::parse(kReplySchemas);
  shapes["OcrRequest"] = schemas::json_schema(schemas::ocr_request_fields());
  shapes["OcrRequest"]["examples"] = json::array(
      {{{"model", "millrace/ocr"},
        {"document",
         {{"type", "document_url"}, {"document_url", "data:application/pdf;base64,JVBERi0xLjQK"}}}}});
  shapes["OcrForm"] = schemas::json_schema(schemas::ocr_form_fields());
  shapes.update(openapi_machine_schemas());
  shapes.update(openapi_chat_schemas());
  shapes.update(openapi_admin_schemas());
  shapes.update(openapi_media_schemas());
  shapes.update(openapi_audio_schemas());
  shapes.update(openapi_file_schemas());
  shapes.update(openapi_batch_schemas());
  shapes.update(openapi_webhook_schemas());
  openapi_add_examples(shapes);
  return {{"schemas", std::move(shapes)},
          {"parameters", json::parse(kParameters)},
          {"headers", json::parse(kHeaders)},
          {"securitySchemes", json::parse(kSecurity)}};
}

}  // namespace millrace::api
