#include "ai/providers/model_rules.h"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace millrace::providers {
namespace {

// "gpt-5" of "openai/gpt-5": the name without the owners before it.
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
         !starts_with_any(model, {"grok-3-mini", "grok-4.3"});
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

bool takes_effort(const Target& target, std::string_view effort) {
  const std::string_view model = bare_model(target);
  switch (target.preset->dialect) {
    case Dialect::kOpenai:
      return is_one_of(effort, {"none", "minimal", "low", "medium", "high", "xhigh", "max"});
    case Dialect::kXai:
      if (model.starts_with("grok-3-mini")) return is_one_of(effort, {"low", "high"});
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

bool takes_tier(const Target& target, std::string_view tier) {
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

bool takes_word(const Target& target, std::string_view parameter, std::string_view word) {
  if (parameter == "reasoning_effort") return takes_effort(target, word);
  if (parameter == "service_tier") return takes_tier(target, word);
  if (parameter == "verbosity") return is_one_of(word, {"low", "medium", "high"});
  return true;
}

bool samples_unless_reasoning(const Target& target) { return is_gpt_5_dot(target); }

}  // namespace millrace::providers
