#include "ai/providers/gemini_request.h"

#include <algorithm>

#include "ai/providers/gemini_candidate.h"
#include "ai/providers/gemini_config.h"
#include "ai/providers/gemini_messages.h"
#include "ai/providers/gemini_model.h"
#include "ai/providers/gemini_tools.h"
#include "ai/providers/parameters.h"
#include "ai/providers/wire_words.h"
#include "schemas/json_body.h"

namespace millrace::providers {
namespace {

// A model's name in a path: what is no letter, digit or one of "-._~/" in hexadecimal.
std::string path_name(std::string_view name) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string made;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    const auto byte = static_cast<unsigned char>(c);
    if (plain) {
      made.push_back(c);
    } else {
      made.append({'%', kHex[byte >> 4U], kHex[byte & 15U]});
    }
  }
  return made;
}

std::string path(const Target& target, bool stream) {
  std::string rest = "/" + gemini_model_path(target.model);
  rest.append(stream ? ":streamGenerateContent?alt=sse" : ":generateContent");
  return versioned_path(target.base_url, "/v1beta", rest);
}

}  // namespace

std::string gemini_model_path(std::string_view model) {
  const bool is_whole = model.starts_with("models/") || model.starts_with("tunedModels/");
  return (is_whole ? std::string() : std::string("models/")).append(path_name(model));
}

base::Result<WireRequest> gemini_request(const Target& target, const schemas::ChatRequest& request,
                                         bool stream) {
  const GeminiModel model = gemini_model(target.model);
  Parameters parameters(target.preset->dialect, request);
  const Json* messages = parameters.take("messages");
  base::Result<GeminiTurns> turns =
      gemini_turns(messages != nullptr ? *messages : Json::array(), model, parameters);
  if (!turns) return turns.error();

  Json wire = {{"contents", std::move(turns->contents)}};
  if (!turns->system_parts.empty()) wire["systemInstruction"] = {{"parts", std::move(turns->system_parts)}};
  tell_gemini_tools(parameters, model, wire);
  tell_gemini_config(parameters, model, wire);
  if (const Json* settings = parameters.take("safety_settings")) wire["safetySettings"] = *settings;

  WireRequest made;
  made.path = path(target, stream);
  made.headers = {{"Content-Type", "application/json"}};
  made.body = schemas::dump(wire);
  const auto count = integer_of(member(member(wire, "generationConfig"), "candidateCount"));
  made.choices = static_cast<int>(std::clamp<std::int64_t>(count.value_or(1), 1, kGeminiCandidatesMax));
  made.dropped = parameters.finish();
  return made;
}

}  // namespace millrace::providers
