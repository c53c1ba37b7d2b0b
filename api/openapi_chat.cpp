#include <nlohmann/json.hpp>

#include "api/openapi.h"
#include "schemas/chat_request.h"

namespace millrace::api {
namespace {

using nlohmann::json;

constexpr std::string_view kChatSchemas = R"json({
  "ChatUsage": {"type": "object", "required": ["prompt_tokens", "completion_tokens", "total_tokens"], "properties": {
    "prompt_tokens": {"type": "integer"}, "completion_tokens": {"type": "integer"}, "total_tokens": {"type": "integer"},
    "prompt_tokens_details": {"type": ["object", "null"]}, "completion_tokens_details": {"type": ["object", "null"]}}},
  "ChatToolCall": {"type": "object", "required": ["id", "type"], "properties": {
    "id": {"type": "string"}, "type": {"type": "string", "enum": ["function", "custom"]},
    "function": {"type": "object", "properties": {"name": {"type": "string"}, "arguments": {"type": "string"}}},
    "custom": {"type": "object", "properties": {"name": {"type": "string"}, "input": {"type": "string"}}}}},
  "ChatMessage": {"type": "object", "required": ["role", "content", "refusal"], "properties": {
    "role": {"const": "assistant"}, "content": {"type": ["string", "null"]}, "refusal": {"type": ["string", "null"]},
    "reasoning_content": {"type": "string"},
    "tool_calls": {"type": "array", "items": {"$ref": "#/components/schemas/ChatToolCall"}},
    "function_call": {"type": "object", "deprecated": true}}},
  "ChatChoice": {"type": "object", "required": ["index", "message", "logprobs", "finish_reason"], "properties": {
    "index": {"type": "integer"}, "message": {"$ref": "#/components/schemas/ChatMessage"},
    "logprobs": {"type": ["object", "null"]}, "finish_reason": {"type": ["string", "null"]}}},
  "McpToolResult": {"type": "object", "required": ["server_name", "tool_name", "arguments", "is_error"], "properties": {
    "server_name": {"type": "string"}, "tool_name": {"type": "string"}, "arguments": {}, "is_error": {"type": "boolean"},
    "result": {}, "duration_ms": {"type": "integer"}}},
  "ChatCompletion": {"type": "object", "required": ["id", "object", "created", "model", "choices"], "properties": {
    "id": {"type": "string"}, "object": {"const": "chat.completion"}, "created": {"type": "integer"},
    "model": {"type": "string"},
    "choices": {"type": "array", "items": {"$ref": "#/components/schemas/ChatChoice"}},
    "usage": {"$ref": "#/components/schemas/ChatUsage"},
    "service_tier": {"type": ["string", "null"]}, "system_fingerprint": {"type": ["string", "null"]},
    "tools_executed": {"type": "array", "items": {"type": "string"}},
    "mcp_tool_results": {"type": "array", "items": {"$ref": "#/components/schemas/McpToolResult"}},
    "mcp_server_errors": {"type": "object"}, "turns_consumed": {"type": "integer"}}},
  "DeferredChat": {"type": "object", "required": ["request_id"], "properties": {
    "request_id": {"type": "string", "description": "GET /v1/chat/deferred-completion/{request_id}"}}},
  "ChatAnswer": {"anyOf": [{"$ref": "#/components/schemas/ChatCompletion"},
    {"$ref": "#/components/schemas/DeferredChat"}]}
})json";

}  // namespace

json openapi_chat_schemas() {
  json shapes = json::parse(kChatSchemas);
  json& request = shapes["ChatRequest"] = schemas::json_schema(schemas::chat_request_fields());
  request["properties"].update(schemas::json_schema(schemas::chat_request_more_fields())["properties"]);
  request["examples"] = json::array(
      {{{"model", "mock/chat"}, {"messages", json::array({{{"role", "user"}, {"content", "Say hello"}}})}}});
  return shapes;
}

}  // namespace millrace::api
