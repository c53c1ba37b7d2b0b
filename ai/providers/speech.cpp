#include "ai/providers/speech.h"

#include "ai/providers/json_access.h"
#include "schemas/json_body.h"

namespace millrace::providers {
namespace {

bool speaks(const Target& target) {
  if (target.preset->family != Family::kOpenai) return false;
  const Dialect dialect = target.preset->dialect;
  return dialect == Dialect::kOpenai || dialect == Dialect::kGroq || dialect == Dialect::kLocal;
}

}  // namespace

std::optional<base::Error> no_speech(const Target& target) {
  if (speaks(target)) return std::nullopt;
  return base::error(base::Code::kBadRequest,
                     "model '" + target.name + "': provider " + std::string(target.preset->name) +
                         " has no speech that is asked for in OpenAI's form",
                     "model");
}

WireRequest speech_request(const Target& target, const schemas::SpeechRequest& request) {
  Json body = request.extra;
  body["model"] = target.model;
  body["input"] = request.input;
  body["voice"] = request.voice_by_id ? Json{{"id", request.voice}} : Json(request.voice);
  body["response_format"] = schemas::name(request.encoding);
  if (request.speed != 1) body["speed"] = request.speed;
  if (!request.instructions.empty()) body["instructions"] = request.instructions;
  WireRequest made;
  made.path = "/audio/speech";
  made.headers = {{"Content-Type", "application/json"}};
  made.body = schemas::dump(body);
  return made;
}

}  // namespace millrace::providers
