#include "ai/providers/anthropic_request.h"

#include <algorithm>

#include "ai/providers/anthropic_messages.h"
#include "ai/providers/anthropic_model.h"
#include "ai/providers/anthropic_thinking.h"
#include "ai/providers/anthropic_tools.h"
#include "ai/providers/content_part.h"
#include "ai/providers/parameters.h"
#include "ai/providers/wire_words.h"
#include "schemas/json_body.h"

namespace millrace::providers {
namespace {

constexpr std::size_t kUserBytesMax = 64;

void tell_limit(const Target& target, const ClaudeModel& model, Parameters& parameters, Json& wire) {
  const std::int64_t bound = target.output_max.value_or(model.output_default());
  const std::optional<std::int64_t> wanted = integer_of(parameters.take("max_completion_tokens"));
  std::int64_t told = wanted.value_or(bound);
  if (target.output_max && told > *target.output_max) {
    parameters.clamped("max_completion_tokens");
    told = *target.output_max;
  }
  wire["max_tokens"] = std::max<std::int64_t>(told, 1);
}

void tell_stop(Parameters& parameters, Json& wire) {
  const Json* stop = parameters.take("stop");
  if (stop == nullptr || !stop->is_array()) return;
  Json told = Json::array();
  for (const Json& sequence : *stop) {
    if (!is_blank(text_of(&sequence))) told.push_back(sequence);
  }
  if (told.size() < stop->size()) told.empty() ? parameters.dropped("stop") : parameters.clamped("stop");
  if (!told.empty()) wire["stop_sequences"] = std::move(told);
}

void tell_format(const ClaudeModel& model, Parameters& parameters, Json& wire) {
  const Json* format = parameters.take("response_format");
  if (format == nullptr || text_of(*format, "type") == "text") return;
  const Json* schema = member(member(*format, "json_schema"), "schema");
  if (schema == nullptr || !model.takes_formats()) return parameters.dropped("response_format");
  wire["output_config"]["format"] = {{"type", "json_schema"}, {"schema", *schema}};
}

void tell_user(Parameters& parameters, Json& wire) {
  const Json* safety = parameters.take("safety_identifier");
  const Json* user = parameters.take("user");
  if (safety != nullptr && user != nullptr) parameters.dropped("user");
  const std::string_view id = text_of(safety != nullptr ? safety : user);
  if (id.empty()) return;
  if (id.size() > kUserBytesMax) parameters.clamped(safety != nullptr ? "safety_identifier" : "user");
  wire["metadata"]["user_id"] = cut_text(id, kUserBytesMax);
}

void tell_tier(Parameters& parameters, Json& wire) {
  const Json* tier = parameters.take("service_tier");
  if (tier == nullptr) return;
  if (text_of(tier) == "auto") {
    wire["service_tier"] = "auto";
  } else if (text_of(tier) == "default") {
    wire["service_tier"] = "standard_only";
  } else {
    parameters.dropped("service_tier");
  }
}

// Features that Anthropic serves only to who names them.
std::string betas(const AnthropicTurns& turns, const ClaudeModel& model, const Json& wire) {
  std::string names;
  const auto add = [&](std::string_view name) { names.append(names.empty() ? "" : ",").append(name); };
  if (turns.names_files) add("files-api-2025-04-14");
  const bool thinks_by_budget =
      wire.contains("thinking") && text_of(wire["thinking"], "type") == "enabled" && wire.contains("tools");
  if (thinks_by_budget && model.is_claude && model.at_least(4, 0)) add("interleaved-thinking-2025-05-14");
  return names;
}

}  // namespace

base::Result<WireRequest> anthropic_request(const Target& target, const schemas::ChatRequest& request,
                                            bool stream) {
  const ClaudeModel model = claude_model(target.model);
  Parameters parameters(target.preset->dialect, request);
  const Json* messages = parameters.take("messages");
  base::Result<AnthropicTurns> turns =
      anthropic_turns(messages != nullptr ? *messages : Json::array(), parameters);
  if (!turns) return turns.error();

  Json wire = {{"model", target.model}, {"messages", std::move(turns->messages)}};
  if (!turns->system.empty()) wire["system"] = std::move(turns->system);
  if (stream) wire["stream"] = true;
  tell_limit(target, model, parameters, wire);
  const bool forced_call = tell_anthropic_tools(parameters, model, wire);
  tell_anthropic_thinking(parameters, model, {.forced_call = forced_call, .thoughtless = turns->thoughtless},
                          wire);
  tell_anthropic_sampling(parameters, model, wire);
  tell_stop(parameters, wire);
  tell_format(model, parameters, wire);
  tell_user(parameters, wire);
  tell_tier(parameters, wire);

  WireRequest made;
  made.path = versioned_path(target.base_url, "/v1", "/messages");
  made.headers = {{"Content-Type", "application/json"},
                  {std::string(kAnthropicVersion.first), std::string(kAnthropicVersion.second)}};
  if (std::string names = betas(*turns, model, wire); !names.empty()) {
    made.headers.emplace_back("anthropic-beta", std::move(names));
  }
  made.body = schemas::dump(wire);
  made.dropped = parameters.finish();
  return made;
}

}  // namespace millrace::providers
