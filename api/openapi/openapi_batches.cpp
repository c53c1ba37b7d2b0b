#include <nlohmann/json.hpp>

#include "api/openapi/openapi.h"
#include "schemas/batches/batch.h"

namespace millrace::api {
namespace {

using nlohmann::json;

constexpr std::string_view kBatchSchemas = R"json({
  "Batch": {"type": "object",
    "required": ["id", "object", "endpoint", "completion_window", "status", "created_at", "expires_at", "request_counts"], "properties": {
      "id": {"type": "string"}, "object": {"const": "batch"}, "endpoint": {"type": "string"},
      "model": {"type": ["string", "null"]},
      "errors": {"oneOf": [{"type": "null"}, {"type": "object", "properties": {"object": {"const": "list"},
        "data": {"type": "array", "items": {"$ref": "#/components/schemas/BatchError"}}}}]},
      "input_file_id": {"type": ["string", "null"]}, "completion_window": {"type": "string"},
      "status": {"enum": ["validating", "failed", "in_progress", "finalizing", "completed", "expired", "cancelling", "cancelled"]},
      "output_file_id": {"type": ["string", "null"]}, "error_file_id": {"type": ["string", "null"]},
      "created_at": {"type": "integer", "description": "Unix seconds, like all times of a batch"},
      "in_progress_at": {"type": ["integer", "null"]}, "expires_at": {"type": "integer"},
      "finalizing_at": {"type": ["integer", "null"]}, "completed_at": {"type": ["integer", "null"]},
      "failed_at": {"type": ["integer", "null"]}, "expired_at": {"type": ["integer", "null"]},
      "cancelling_at": {"type": ["integer", "null"]}, "cancelled_at": {"type": ["integer", "null"]},
      "request_counts": {"type": "object", "required": ["total", "completed", "failed"], "properties": {
        "total": {"type": "integer"}, "completed": {"type": "integer"}, "failed": {"type": "integer"}}},
      "usage": {"type": "object", "properties": {"input_tokens": {"type": "integer"},
        "input_tokens_details": {"type": "object", "properties": {"cached_tokens": {"type": "integer"}}},
        "output_tokens": {"type": "integer"},
        "output_tokens_details": {"type": "object", "properties": {"reasoning_tokens": {"type": "integer"}}},
        "total_tokens": {"type": "integer"}}},
      "metadata": {"type": ["object", "null"], "additionalProperties": {"type": "string"}},
      "cost_usd": {"type": "number", "description": "What its requests have cost so far"},
      "max_cost_usd": {"type": "number"}}},
  "BatchError": {"type": "object", "required": ["code", "message"], "properties": {
    "code": {"type": "string"}, "message": {"type": "string"}, "param": {"type": ["string", "null"]},
    "line": {"type": ["integer", "null"], "description": "From 1"}}},
  "BatchList": {"type": "object", "required": ["object", "data", "has_more"], "properties": {
    "object": {"const": "list"}, "data": {"type": "array", "items": {"$ref": "#/components/schemas/Batch"}},
    "has_more": {"type": "boolean"}, "first_id": {"type": "string"}, "last_id": {"type": "string"}}},
  "BatchJob": {"type": "object", "required": ["id", "object", "endpoint", "status", "created_at", "total_requests"], "properties": {
    "id": {"type": "string"}, "object": {"const": "batch"}, "input_files": {"type": "array", "items": {"type": "string"}},
    "metadata": {"type": "object", "additionalProperties": {"type": "string"}}, "endpoint": {"type": "string"},
    "model": {"type": ["string", "null"]}, "output_file": {"type": ["string", "null"]}, "error_file": {"type": ["string", "null"]},
    "errors": {"type": "array", "items": {"type": "object", "properties": {"message": {"type": "string"}, "count": {"type": "integer"}}}},
    "status": {"enum": ["QUEUED", "RUNNING", "SUCCESS", "FAILED", "TIMEOUT_EXCEEDED", "CANCELLATION_REQUESTED", "CANCELLED"]},
    "created_at": {"type": "integer"}, "total_requests": {"type": "integer"}, "completed_requests": {"type": "integer"},
    "succeeded_requests": {"type": "integer"}, "failed_requests": {"type": "integer"},
    "started_at": {"type": ["integer", "null"]}, "completed_at": {"type": ["integer", "null"]}, "cost_usd": {"type": "number"}}},
  "BatchJobList": {"type": "object", "required": ["object", "data", "total"], "properties": {
    "object": {"const": "list"}, "data": {"type": "array", "items": {"$ref": "#/components/schemas/BatchJob"}},
    "total": {"type": "integer"}}}
})json";

}  // namespace

json openapi_batch_schemas() {
  json shapes = json::parse(kBatchSchemas);
  shapes["BatchRequest"] = schemas::json_schema(schemas::batch_fields());
  shapes["BatchJobRequest"] = schemas::json_schema(schemas::mistral_batch_fields());
  return shapes;
}

}  // namespace millrace::api
