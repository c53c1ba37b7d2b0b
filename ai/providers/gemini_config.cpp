#include "ai/providers/gemini_config.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "ai/providers/gemini_thinking.h"

namespace millrace::providers {
namespace {

// Told as they are, under another name.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kRenamed = {{
    {"temperature", "temperature"},
    {"top_p", "topP"},
    {"max_completion_tokens", "maxOutputTokens"},
    {"stop", "stopSequences"},
    {"presence_penalty", "presencePenalty"},
    {"frequency_penalty", "frequencyPenalty"},
}};

// Members whose own members are a schema's, not Gemini's.
constexpr std::array<std::string_view, 4> kSchemas = {"responseSchema", "responseJsonSchema",
                                                      "_responseJsonSchema", "parametersJsonSchema"};

std::string camel_case(std::string_view name) {
  std::string made;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '_' && i > 0 && i + 1 < name.size()) {
      made.push_back(static_cast<char>(std::toupper(static_cast<unsigned char>(name[++i]))));
    } else {
      made.push_back(name[i]);
    }
  }
  return made;
}

void tell_seed(Parameters& parameters, Json& config) {
  const Json* seed = parameters.take("seed");
  if (seed == nullptr) return;
  const std::int64_t wanted = integer_of(seed).value_or(INT64_MAX);
  const std::int64_t told = std::clamp<std::int64_t>(wanted, INT32_MIN, INT32_MAX);
  if (told != wanted) parameters.clamped("seed");
  config["seed"] = told;
}

void tell_logprobs(Parameters& parameters, Json& config) {
  const Json* wanted = parameters.take("logprobs");
  const std::optional<std::int64_t> top = integer_of(parameters.take("top_logprobs"));
  if (!is_true(wanted)) return;
  config["responseLogprobs"] = true;
  if (top.value_or(0) > 0) config["logprobs"] = *top;
}

void tell_format(Parameters& parameters, Json& config) {
  const Json* format = parameters.take("response_format");
  if (format == nullptr || text_of(*format, "type") == "text") return;
  config["responseMimeType"] = "application/json";
  const Json* schema = member(member(*format, "json_schema"), "schema");
  if (schema == nullptr) return;
  config["responseJsonSchema"] = *schema;
  config["responseJsonSchema"].erase("$schema");
}

void tell_voices(Parameters& parameters, Json& config) {
  if (const Json* modalities = parameters.take("modalities");
      modalities != nullptr && modalities->is_array()) {
    for (const Json& one : *modalities) {
      std::string name(text_of(&one));
      std::transform(name.begin(), name.end(), name.begin(),
                     [](char c) { return static_cast<char>(std::toupper(static_cast<unsigned char>(c))); });
      config["responseModalities"].push_back(std::move(name));
    }
  }
  const Json* audio = parameters.take("audio");
  if (audio == nullptr) return;
  if (text_of(*audio, "format") != "pcm16") parameters.clamped("audio");  // it speaks nothing else
  const Json* voice = member(*audio, "voice");
  const std::string_view name =
      voice != nullptr && voice->is_string() ? text_of(voice) : text_of(member(voice, "id"));
  if (!name.empty()) config["speechConfig"]["voiceConfig"]["prebuiltVoiceConfig"]["voiceName"] = name;
}

// Two forms of one wish: the caller's alone may stay.
void yield_to(const Json& own, std::string_view his, std::string_view ours, Json& made) {
  if (member(own, his) != nullptr && made.is_object()) made.erase(std::string(ours));
}

Json in_camel_case(const Json& own) {
  if (own.is_array()) {
    Json made = Json::array();
    for (const Json& one : own) made.push_back(in_camel_case(one));
    return made;
  }
  if (!own.is_object()) return own;
  Json made = Json::object();
  for (const auto& [name, value] : own.items()) {
    std::string camel = camel_case(name);
    const bool is_schema = std::find(kSchemas.begin(), kSchemas.end(), camel) != kSchemas.end();
    made[std::move(camel)] = is_schema ? value : in_camel_case(value);
  }
  return made;
}

void overlay(Json& made, Json&& own) {
  if (!made.is_object() || !own.is_object()) {
    made = std::move(own);
    return;
  }
  for (auto& [name, value] : own.items()) {
    const bool is_schema = std::find(kSchemas.begin(), kSchemas.end(), name) != kSchemas.end();
    if (is_schema || !made.contains(name)) {
      made[name] = std::move(value);
    } else {
      overlay(made[name], std::move(value));
    }
  }
}

}  // namespace

void merge_gemini(Json& made, const Json& own) {
  Json words = in_camel_case(own);
  yield_to(words, "responseSchema", "responseJsonSchema", made);
  if (const Json* thinking = member(words, "thinkingConfig");
      thinking != nullptr && made.contains("thinkingConfig")) {
    yield_to(*thinking, "thinkingLevel", "thinkingBudget", made["thinkingConfig"]);
    yield_to(*thinking, "thinkingBudget", "thinkingLevel", made["thinkingConfig"]);
  }
  overlay(made, std::move(words));
}

void tell_gemini_config(Parameters& parameters, const GeminiModel& model, Json& wire) {
  Json config = Json::object();
  for (const auto& [name, told] : kRenamed) {
    if (const Json* value = parameters.take(name)) config[std::string(told)] = *value;
  }
  if (const Json* top_k = parameters.take("top_k"); top_k != nullptr && integer_of(top_k) != 0) {
    config["topK"] = *top_k;
  }
  tell_seed(parameters, config);
  tell_logprobs(parameters, config);
  tell_format(parameters, config);
  tell_voices(parameters, config);
  tell_gemini_thinking(parameters, model, config);
  if (const Json* own = parameters.take("generation_config")) merge_gemini(config, *own);
  if (!config.empty()) wire["generationConfig"] = std::move(config);
}

}  // namespace millrace::providers
