#include <nlohmann/json.hpp>

#include "api/openapi/openapi.h"
#include "schemas/chat/chat_request.h"
#include "schemas/chat/embedding.h"
#include "schemas/media/image.h"
#include "schemas/media/speech.h"
#include "schemas/media/transcription_request.h"

namespace millrace::api {
namespace {

using nlohmann::json;

constexpr std::string_view kChatSchemas = R"json({
  "ChatUsage": {"type": "object", "required": ["prompt_tokens", "completion_tokens", "total_tokens"], "properties": {
    "prompt_tokens": {"type": "integer"}, "completion_tokens": {"type": "integer"}, "total_tokens": {"type": "integer"},
    "prompt_tokens_details": {"type": ["object", "null"], "properties": {"cached_tokens": {"type": "integer"},
      "cache_creation_tokens": {"type": "integer", "description": "Written to the provider's cache"}}},
    "completion_tokens_details": {"type": ["object", "null"]}}},
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
    "mcp_server_errors": {"type": "object"}, "turns_consumed": {"type": "integer"},
    "dropped_calls": {"type": "array", "items": {"type": "string"}, "description": "Old form only: further calls of the model"}}},
  "DeferredChat": {"type": "object", "required": ["id", "request_id"], "properties": {
    "id": {"type": "string", "description": "The same as `request_id`: the id of the job"},
    "request_id": {"type": "string", "description": "GET /v1/chat/deferred-completion/{request_id}"},
    "run_at": {"type": "string", "format": "date-time", "description": "When it starts, if the request has `run_at` or `delay`"}}},
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

namespace {

using nlohmann::json;

constexpr std::string_view kAudioSchemas = R"json({
  "TranscriptionWord": {"type": "object", "required": ["word", "start", "end"], "properties": {
    "word": {"type": "string"}, "start": {"type": "number"}, "end": {"type": "number"}}},
  "TranscriptionSegment": {"type": "object",
    "required": ["id", "seek", "start", "end", "text", "tokens", "temperature", "avg_logprob", "compression_ratio",
      "no_speech_prob"],
    "properties": {
      "id": {"type": "integer"}, "seek": {"type": "integer"},
      "start": {"type": "number", "description": "In seconds, as all times here"}, "end": {"type": "number"},
      "text": {"type": "string"}, "tokens": {"type": "array", "items": {"type": "integer"}},
      "temperature": {"type": "number"}, "avg_logprob": {"type": "number"},
      "compression_ratio": {"type": "number"}, "no_speech_prob": {"type": "number"},
      "speaker": {"type": "string", "description": "If the model tells speakers apart"}}},
  "DiarizedSegment": {"type": "object", "required": ["type", "id", "start", "end", "text", "speaker"], "properties": {
    "type": {"const": "transcript.text.segment"}, "id": {"type": "string"},
    "start": {"type": "number"}, "end": {"type": "number"}, "text": {"type": "string"},
    "speaker": {"type": "string",
      "description": "A name of `known_speaker_names`, or a label such as `A`; empty if the model gave none"}}},
  "Transcription": {"type": "object", "required": ["text", "language", "duration"], "properties": {
    "text": {"type": "string"}, "model": {"type": "string", "description": "The requested model"},
    "language": {"type": "string", "description": "Its English name, or `unknown`"},
    "duration": {"type": ["number", "null"], "description": "In seconds; null while unknown"},
    "usage": {"type": "object", "required": ["type", "seconds"], "properties": {
      "type": {"const": "duration"}, "seconds": {"type": "number", "description": "Rounded up to whole seconds"}}},
    "task": {"type": "string", "enum": ["transcribe", "translate"],
      "description": "Only with `verbose_json`, like `words`, and `diarized_json`"},
    "segments": {"description": "With `verbose_json`, or with their speakers with `diarized_json`", "anyOf": [
      {"type": "array", "items": {"$ref": "#/components/schemas/TranscriptionSegment"}},
      {"type": "array", "items": {"$ref": "#/components/schemas/DiarizedSegment"}}]},
    "words": {"type": "array", "items": {"$ref": "#/components/schemas/TranscriptionWord"}}}},
  "JobResult": {"description": "The response body of the equivalent synchronous request", "anyOf": [
    {"$ref": "#/components/schemas/OcrReply"}, {"$ref": "#/components/schemas/ChatCompletion"},
    {"$ref": "#/components/schemas/Transcription"}, {"$ref": "#/components/schemas/Execution"}]}
})json";

}  // namespace

json openapi_audio_schemas() {
  using schemas::TranscriptionTask;
  json shapes = json::parse(kAudioSchemas);
  shapes["TranscriptionForm"] =
      schemas::json_schema(schemas::transcription_fields(TranscriptionTask::kTranscribe));
  shapes["TranslationForm"] =
      schemas::json_schema(schemas::transcription_fields(TranscriptionTask::kTranslate));
  return shapes;
}

namespace {

using nlohmann::json;

constexpr std::string_view kMediaSchemas = R"json({
  "Embedding": {"type": "object", "required": ["object", "index", "embedding"], "properties": {
    "object": {"const": "embedding"}, "index": {"type": "integer"},
    "embedding": {"anyOf": [{"type": "array", "items": {"type": "number"}},
      {"type": "string", "description": "With encoding_format base64: little-endian float32"}]}}},
  "EmbeddingList": {"type": "object", "required": ["object", "data", "model", "usage"], "properties": {
    "object": {"const": "list"}, "id": {"type": "string"}, "model": {"type": "string"},
    "data": {"type": "array", "items": {"$ref": "#/components/schemas/Embedding"}},
    "usage": {"type": "object", "required": ["prompt_tokens", "total_tokens"], "properties": {
      "prompt_tokens": {"type": "integer"}, "total_tokens": {"type": "integer"}}}}},
  "Image": {"type": "object", "properties": {
    "url": {"type": "string", "description": "Valid for 60 minutes; needs no key"}, "b64_json": {"type": "string"},
    "revised_prompt": {"type": "string"}}},
  "ImageList": {"type": "object", "required": ["created", "data"], "properties": {
    "created": {"type": "integer"}, "data": {"type": "array", "items": {"$ref": "#/components/schemas/Image"}},
    "usage": {"type": "object", "properties": {"input_tokens": {"type": "integer"},
      "output_tokens": {"type": "integer"}, "total_tokens": {"type": "integer"}}}}}
})json";

}  // namespace

json openapi_media_schemas() {
  json shapes = json::parse(kMediaSchemas);
  json& request = shapes["EmbeddingRequest"] = schemas::json_schema(schemas::embedding_request_fields());
  request["examples"] = json::array({{{"model", "mock/embedding"}, {"input", "Say hello"}}});
  json& image = shapes["ImageRequest"] = schemas::json_schema(schemas::image_request_fields());
  image["examples"] = json::array({{{"model", "mock/image"}, {"prompt", "A mill"}, {"size", "256x256"}}});
  json& speech = shapes["SpeechRequest"] = schemas::json_schema(schemas::speech_request_fields());
  speech["examples"] =
      json::array({{{"model", schemas::kSpeechModel}, {"input", "The mill turns."}, {"voice", "alloy"}}});
  return shapes;
}

}  // namespace millrace::api
