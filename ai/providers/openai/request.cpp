#include "ai/providers/openai/request.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>

#include "ai/providers/json_access.h"
#include "ai/providers/media_check.h"
#include "ai/providers/openai/messages.h"
#include "ai/providers/openai/schema.h"
#include "ai/providers/openai/splice.h"
#include "ai/providers/wire_names.h"
#include "ai/providers/wire_text.h"
#include "schemas/json/json_body.h"
#include "schemas/json/json_text.h"

namespace millrace::providers {
namespace {

using How = schemas::DroppedParam::How;

constexpr double kMistralTemperatureMax = 1.5;
constexpr double kGroqTemperatureMin = 1e-8;

// True for the default value of a parameter for which some models accept no other value.
bool is_only_value(std::string_view parameter, const Json& value) {
  if (parameter == "temperature" || parameter == "top_p") return value == 1;
  if (parameter == "presence_penalty" || parameter == "frequency_penalty") return value == 0;
  return false;
}

class Writer {
 public:
  Writer(const Target& target, const schemas::ChatRequest& request)
      : target_(target), dialect_(target.preset->dialect), request_(request), out_(4096) {}

  WireRequest write(bool stream) {
    out_.member("model", target_.model);
    for (const auto& [name, value] : request_.body.items()) parameter(name, value);
    write_n();
    limit_old_functions();
    if (stream) write_stream(dialect_, out_);
    WireRequest wire = openai_wire(stream);
    wire.body = out_.finish();
    wire.dropped = std::move(dropped_);
    wire.choices = choices_;
    wire.loosened_tools = loosened_tools_;
    return wire;
  }

 private:
  void parameter(const std::string& name, const Json& value) {
    if (name == "n" || name == "model" || name == "stream" || name == "stream_options") return;
    if (name == "messages") {
      out_.raw(name, openai_messages(target_, value, dropped_));
      return;
    }
    if (needs_tools(name) && !has_tools()) return report(name, How::kDropped);
    const std::optional<Support> how = support(target_, name);
    if (!how) {  // unknown fields are passed through
      put(name, value);
    } else if (*how == Support::kDropped || loses_to_reasoning(name)) {
      is_kept(name, value) ? put(name, value) : report(name, How::kDropped);
    } else {
      known(name, value);
    }
  }

  // Providers reject these without tools.
  static bool needs_tools(std::string_view name) {
    return name == "tool_choice" || name == "parallel_tool_calls";
  }

  bool has_tools() const {
    const Json* tools = member(request_.body, "tools");
    return tools != nullptr && !tools->empty();
  }

  bool loses_to_reasoning(std::string_view name) const {
    if (name != "temperature" && name != "top_p" && name != "logprobs" && name != "top_logprobs")
      return false;
    if (!samples_unless_reasoning(target_)) return false;
    const auto effort = request_.body.find("reasoning_effort");
    return effort != request_.body.end() && *effort != "none";
  }

  bool is_kept(std::string_view name, const Json& value) const {
    return dialect_ == Dialect::kOpenai && is_only_value(name, value);
  }

  void known(const std::string& name, const Json& value) {
    if (name == "max_completion_tokens") {
      put(supports_max_tokens(dialect_) ? "max_tokens" : name, value);
    } else if (name == "temperature") {
      temperature(value);
    } else if (name == "seed" && dialect_ == Dialect::kMistral) {
      put("random_seed", value);
    } else if (name == "user") {
      user(value);
    } else if (name == "thinking") {
      thinking(value);
    } else if (name == "tools") {
      tools(value);
    } else if (name == "response_format") {
      format(value);
    } else if (name == "tool_choice" && dialect_ == Dialect::kMistral && value == "required") {
      out_.member(name, "any");
    } else if (name == "service_tier" && dialect_ == Dialect::kGroq && value == "default") {
      out_.member(name, "on_demand");
      report(name, How::kClamped);
    } else if (value.is_string() && !supports_value(target_, name, value.get_ref<const std::string&>())) {
      report(name, How::kDropped);
    } else {
      put(name, value);
    }
  }

  void temperature(const Json& value) {
    const double given = value.is_number() ? value.get<double>() : 0;
    double limited = given;
    if (dialect_ == Dialect::kMistral) limited = std::min(given, kMistralTemperatureMax);
    if (dialect_ == Dialect::kGroq) limited = std::max(given, kGroqTemperatureMin);
    if (!value.is_number() || limited == given) return put("temperature", value);
    put("temperature", limited);
    report("temperature", How::kClamped);
  }

  void user(const Json& value) {
    const auto* text = value.get_ptr<const std::string*>();
    if (text == nullptr) return put("user", value);
    const std::string_view shortened = first_characters(*text, kUserCharactersMax);
    out_.member("user", shortened);
    if (shortened.size() < text->size()) report("user", How::kClamped);
  }

  void tools(const Json& value) {
    if (!has_schema_rules(dialect_)) {
      out_.raw("tools", openai_tools(target_, value, dropped_));
      return;
    }
    Json fitted = value;
    SchemaFit worst;
    for (Json& tool : fitted) {
      const auto function = tool.is_object() ? tool.find("function") : tool.end();
      if (function == tool.end() || !function->is_object()) continue;
      const SchemaFit fit = fit_tool_schema(dialect_, *function);
      worst.is_clamped = worst.is_clamped || fit.is_clamped;
      worst.is_loosened = worst.is_loosened || fit.is_loosened;
    }
    if (worst.is_clamped) report("tools", How::kClamped);
    loosened_tools_ = worst.is_loosened;
    out_.raw("tools", openai_tools(target_, fitted, dropped_));
  }

  void format(const Json& value) {
    Json fitted = value;
    const auto schema = fitted.is_object() ? fitted.find("json_schema") : fitted.end();
    if (schema != fitted.end() && schema->is_object()) {
      if (fit_answer_schema(dialect_, *schema)) report("response_format", How::kClamped);
      const auto name = schema->find("name");
      if (name != schema->end() && name->is_string() && fit_name(tool_name_rule(dialect_), *name))
        report("response_format.json_schema.name", How::kClamped);
    }
    put("response_format", fitted);
  }

  // {"type": enabled | disabled | adaptive, "budget_tokens"?}: the mode can be sent, the budget cannot.
  void thinking(const Json& value) {
    const std::string type = value.is_object() ? value.value("type", std::string()) : std::string();
    const bool on = type != "disabled";
    if (dialect_ == Dialect::kLocal && target_.preset->name != "ollama") {
      out_.raw("chat_template_kwargs", on ? R"({"enable_thinking":true})" : R"({"enable_thinking":false})");
      if (value.contains("budget_tokens")) report("thinking", How::kClamped);
      return;
    }
    if (request_.body.contains("reasoning_effort")) return report("thinking", How::kDropped);
    const std::string_view effort = thinking_effort(on);
    if (effort.empty()) return report("thinking", How::kDropped);
    out_.member("reasoning_effort", effort);
    report("thinking", How::kClamped);
  }

  std::string_view thinking_effort(bool on) const {
    const auto taken = [&](std::string_view word) {
      return supports_value(target_, "reasoning_effort", word);
    };
    if (!on) return taken("none") ? "none" : "";
    if (dialect_ == Dialect::kGroq && taken("default")) return "default";
    return taken("medium") ? "medium" : "";
  }

  void write_n() {
    if (request_.n <= 1) return;
    if (support(target_, "n") == Support::kNative) {
      out_.number("n", request_.n);
      choices_ = request_.n;
    } else {
      report("n", How::kEmulated);
    }
  }

  // The old form has only one call per answer.
  void limit_old_functions() {
    constexpr const char* kParallel = "parallel_tool_calls";
    const bool is_needed = request_.old_functions && has_tools() && !request_.body.contains(kParallel);
    if (is_needed && support(target_, kParallel) == Support::kNative) out_.flag(kParallel, false);
  }

  void put(std::string_view name, const Json& value) { out_.raw(name, schemas::dump(value)); }
  void report(std::string_view name, How how) { dropped_.push_back({std::string(name), how}); }

  const Target& target_;
  Dialect dialect_;
  const schemas::ChatRequest& request_;
  schemas::JsonObject out_;
  schemas::DroppedParams dropped_;
  int choices_ = 1;
  bool loosened_tools_ = false;
};

}  // namespace

namespace {

// The most tools that a provider takes in one request, by its errors; 0: not known.
std::size_t tools_max(const Target& target) {
  if (media_dialect(target) == Dialect::kLocal) return 0;  // also another server with OpenAI's protocol
  switch (target.preset->dialect) {
    case Dialect::kOpenai:
    case Dialect::kGroq:
      return 128;
    case Dialect::kXai:
      return 200;
    case Dialect::kAnthropic:
    case Dialect::kGemini:
    case Dialect::kMistral:
    case Dialect::kLocal:
    case Dialect::kMock:
      break;
  }
  return 0;
}

base::Status check_tools(const Target& target, const schemas::ChatRequest& request) {
  const Json* tools = member(request.body, "tools");
  const std::size_t most = tools_max(target), given = tools != nullptr ? tools->size() : 0;
  if (most == 0 || given <= most) return {};
  return base::error(base::Code::kBadRequest,
                     "tools: the provider " + std::string(target.preset->name) + " takes at most " +
                         std::to_string(most) + " tools; the request has " + std::to_string(given) +
                         ", with those of its MCP servers",
                     "tools");
}

}  // namespace

base::Result<WireRequest> openai_request(const Target& target, const schemas::ChatRequest& request,
                                         bool stream) {
  if (const base::Status checked = check_media(target, request); !checked) return checked.error();
  if (const base::Status checked = check_tools(target, request); !checked) return checked.error();
  if (request.quick.empty()) return Writer(target, request).write(stream);
  if (auto spliced = openai_splice(target, request, stream)) return *std::move(spliced);
  schemas::ChatRequest formed = request;
  schemas::form_body(formed);
  return Writer(target, formed).write(stream);
}

namespace {

// "gpt-5" for "openai/gpt-5": the name without the owners before it.
std::string_view bare_model(const Target& target) {
  const std::string_view model = target.model;
  return model.substr(model.rfind('/') + 1);
}

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> beginnings) {
  return std::ranges::any_of(beginnings, [&](std::string_view begin) { return text.starts_with(begin); });
}

bool is_dialect(const Target& target, Dialect dialect) { return target.preset->dialect == dialect; }

bool is_o_series(const Target& target) {
  return is_dialect(target, Dialect::kOpenai) && starts_with_any(bare_model(target), {"o1", "o3", "o4"});
}
bool is_gpt_5_chat(std::string_view model) { return model.find("-chat") != std::string_view::npos; }
bool is_gpt_5(const Target& target) {
  const std::string_view model = bare_model(target);
  return is_dialect(target, Dialect::kOpenai) && model.starts_with("gpt-5") && !is_gpt_5_chat(model);
}
bool is_gpt_5_dot(const Target& target) {
  return is_gpt_5(target) && bare_model(target).starts_with("gpt-5.");
}
bool openai_reasons(const Target& target) { return is_o_series(target) || is_gpt_5(target); }
bool openai_reasons_always(const Target& target) { return openai_reasons(target) && !is_gpt_5_dot(target); }
bool openai_never_reasons(const Target& target) {
  return is_dialect(target, Dialect::kOpenai) &&
         starts_with_any(bare_model(target), {"gpt-3.5", "gpt-4", "chatgpt-4"});
}

bool xai_reasons(const Target& target) {
  const std::string_view model = bare_model(target);
  return is_dialect(target, Dialect::kXai) &&
         starts_with_any(model, {"grok-3-mini", "grok-4", "grok-code"}) &&
         model.find("non-reasoning") == std::string_view::npos;
}
bool xai_takes_no_effort(const Target& target) {
  const std::string_view model = bare_model(target);
  return is_dialect(target, Dialect::kXai) &&
         starts_with_any(model, {"grok-2", "grok-3", "grok-4", "grok-code"}) &&
         !starts_with_any(model, {"grok-3-mini", "grok-4.3", "grok-4.5", "grok-4.6", "grok-4.7"});
}

bool groq_reasons(const Target& target) {
  return is_dialect(target, Dialect::kGroq) &&
         starts_with_any(bare_model(target), {"gpt-oss", "qwen3", "qwen-3"});
}
bool groq_never_reasons(const Target& target) {
  return is_dialect(target, Dialect::kGroq) && !groq_reasons(target);
}

bool is_ollama(const Target& target) { return target.preset->name == "ollama"; }

struct Rule {
  bool (*holds)(const Target&);
  std::string_view parameter;
  Support support;
};

constexpr std::array kRules{
    Rule{openai_reasons_always, "temperature", Support::kDropped},
    Rule{openai_reasons_always, "top_p", Support::kDropped},
    Rule{openai_reasons_always, "logprobs", Support::kDropped},
    Rule{openai_reasons_always, "top_logprobs", Support::kDropped},
    Rule{openai_reasons, "presence_penalty", Support::kDropped},
    Rule{openai_reasons, "frequency_penalty", Support::kDropped},
    Rule{openai_reasons, "logit_bias", Support::kDropped},
    Rule{openai_reasons, "stop", Support::kDropped},
    Rule{openai_reasons, "prediction", Support::kDropped},
    Rule{is_o_series, "parallel_tool_calls", Support::kDropped},
    Rule{is_o_series, "verbosity", Support::kDropped},
    Rule{openai_never_reasons, "reasoning_effort", Support::kDropped},
    Rule{openai_never_reasons, "verbosity", Support::kDropped},
    Rule{xai_reasons, "stop", Support::kDropped},
    Rule{xai_reasons, "presence_penalty", Support::kDropped},
    Rule{xai_reasons, "frequency_penalty", Support::kDropped},
    Rule{xai_takes_no_effort, "reasoning_effort", Support::kDropped},
    Rule{groq_never_reasons, "reasoning_effort", Support::kDropped},
    Rule{groq_never_reasons, "thinking", Support::kDropped},
    Rule{is_ollama, "n", Support::kEmulated},
    Rule{is_ollama, "top_k", Support::kDropped},
    Rule{is_ollama, "logit_bias", Support::kDropped},
    Rule{is_ollama, "user", Support::kDropped},
    Rule{is_ollama, "parallel_tool_calls", Support::kDropped},
};

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

bool supports_effort(const Target& target, std::string_view effort) {
  const std::string_view model = bare_model(target);
  switch (target.preset->dialect) {
    case Dialect::kOpenai:
      return is_one_of(effort, {"none", "minimal", "low", "medium", "high", "xhigh", "max"});
    case Dialect::kXai:
      if (model.starts_with("grok-3-mini")) return is_one_of(effort, {"low", "high"});
      if (model.starts_with("grok-4.6") && effort == "xhigh") return true;
      if (starts_with_any(model, {"grok-4.5", "grok-4.6", "grok-4.7"}) && effort == "none") return false;
      return is_one_of(effort, {"none", "low", "medium", "high"});
    case Dialect::kMistral:
      return is_one_of(effort, {"none", "high"});
    case Dialect::kGroq:
      if (model.starts_with("gpt-oss")) return is_one_of(effort, {"low", "medium", "high"});
      return is_one_of(effort, {"none", "default"});
    case Dialect::kLocal:
    case Dialect::kAnthropic:
    case Dialect::kGemini:
    case Dialect::kMock:
      return true;
  }
  return true;
}

bool supports_tier(const Target& target, std::string_view tier) {
  if (is_dialect(target, Dialect::kGroq))
    return is_one_of(tier, {"auto", "on_demand", "flex", "performance"});
  return is_one_of(tier, {"auto", "default", "flex", "scale", "priority"});
}

}  // namespace

std::optional<Support> support(const Target& target, std::string_view parameter) {
  for (const Rule& rule : kRules) {
    if (rule.parameter == parameter && rule.holds(target)) return rule.support;
  }
  return support(target.preset->dialect, parameter);
}

bool supports_value(const Target& target, std::string_view parameter, std::string_view word) {
  if (parameter == "reasoning_effort") return supports_effort(target, word);
  if (parameter == "service_tier") return supports_tier(target, word);
  if (parameter == "verbosity") return is_one_of(word, {"low", "medium", "high"});
  return true;
}

bool samples_unless_reasoning(const Target& target) { return is_gpt_5_dot(target); }

}  // namespace millrace::providers
