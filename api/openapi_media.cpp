#include <nlohmann/json.hpp>

#include "api/openapi.h"
#include "schemas/embedding_request.h"
#include "schemas/image_request.h"
#include "schemas/speech.h"

namespace millrace::api {
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
    "url": {"type": "string", "description": "Good for 60 minutes, without a key"}, "b64_json": {"type": "string"},
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
