#include <nlohmann/json.hpp>

#include "api/openapi.h"
#include "schemas/transcription_request.h"

namespace millrace::api {
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
      "start": {"type": "number", "description": "Seconds, as all times"}, "end": {"type": "number"},
      "text": {"type": "string"}, "tokens": {"type": "array", "items": {"type": "integer"}},
      "temperature": {"type": "number"}, "avg_logprob": {"type": "number"},
      "compression_ratio": {"type": "number"}, "no_speech_prob": {"type": "number"}}},
  "Transcription": {"type": "object", "required": ["text", "language", "duration"], "properties": {
    "text": {"type": "string"}, "model": {"type": "string", "description": "As it was asked for"},
    "language": {"type": "string", "description": "Its English name, or `unknown`"},
    "duration": {"type": ["number", "null"], "description": "Seconds; null while it is not known"},
    "usage": {"type": "object", "required": ["type", "seconds"], "properties": {
      "type": {"const": "duration"}, "seconds": {"type": "number", "description": "Whole seconds begun"}}},
    "task": {"type": "string", "enum": ["transcribe", "translate"],
      "description": "With `verbose_json`, as what follows"},
    "segments": {"type": "array", "items": {"$ref": "#/components/schemas/TranscriptionSegment"}},
    "words": {"type": "array", "items": {"$ref": "#/components/schemas/TranscriptionWord"}}}},
  "JobResult": {"description": "The reply that the request would have had", "anyOf": [
    {"$ref": "#/components/schemas/OcrReply"}, {"$ref": "#/components/schemas/ChatCompletion"},
    {"$ref": "#/components/schemas/Transcription"}, {"$ref": "#/components/schemas/Execution"}]}
})json";

}  // namespace

json openapi_audio_schemas() {
  using schemas::SpeechTask;
  json shapes = json::parse(kAudioSchemas);
  shapes["TranscriptionForm"] = schemas::json_schema(schemas::transcription_fields(SpeechTask::kTranscribe));
  shapes["TranslationForm"] = schemas::json_schema(schemas::transcription_fields(SpeechTask::kTranslate));
  return shapes;
}

}  // namespace millrace::api
