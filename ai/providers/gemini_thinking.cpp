#include "ai/providers/gemini_thinking.h"

#include <algorithm>

#include "ai/providers/thinking_wish.h"

namespace millrace::providers {
namespace {

constexpr std::int64_t kDynamicBudget = -1;  // the model decides

// What the words of both parameters come to; said of the one that was given.
void clamped(const ThinkingWish& wish, Parameters& report) {
  report.clamped(wish.by_thinking ? "thinking" : "reasoning_effort");
}

void tell_budget(const ThinkingWish& wish, const GeminiModel& model, Parameters& report, Json& config) {
  std::optional<std::int64_t> budget = wish.budget;
  if (!budget && !wish.effort.empty()) {
    budget = budget_of_effort(wish.effort);
    if (!budget) report.dropped("reasoning_effort");
    if (!budget && !wish.by_thinking) return;
  } else if (!wish.effort.empty()) {
    report.dropped("reasoning_effort");
  }
  const std::int64_t told =
      budget ? std::clamp(*budget, model.budget_min(), model.budget_max()) : kDynamicBudget;
  if (wish.budget && told != *wish.budget) report.clamped("thinking");
  config["thinkingConfig"] = {{"thinkingBudget", told}, {"includeThoughts", true}};
}

void tell_no_budget(const ThinkingWish& wish, const GeminiModel& model, Parameters& report, Json& config) {
  if (!model.may_not_think()) clamped(wish, report);
  config["thinkingConfig"] = {{"thinkingBudget", model.may_not_think() ? 0 : model.budget_min()}};
}

// The level that Gemini knows for a word; empty: none.
std::string_view level_word(std::string_view effort) {
  if (effort == "none") return "minimal";
  if (effort == "xhigh" || effort == "max") return "high";
  const bool known = effort == "minimal" || effort == "low" || effort == "medium" || effort == "high";
  return known ? effort : std::string_view();
}

void tell_level(const ThinkingWish& wish, const GeminiModel& model, Parameters& report, Json& config) {
  Json& thinking = config["thinkingConfig"];
  thinking = {{"includeThoughts", true}};
  if (wish.budget) {
    thinking["thinkingLevel"] = model.level(effort_of_budget(*wish.budget));
    report.clamped("thinking");
    if (!wish.effort.empty()) report.dropped("reasoning_effort");
    return;
  }
  if (wish.effort.empty()) return;
  const std::string_view word = level_word(wish.effort);
  if (word.empty()) {
    report.dropped("reasoning_effort");
    if (!wish.by_thinking) config.erase("thinkingConfig");
    return;
  }
  thinking["thinkingLevel"] = model.level(word);
  if (model.level(word) != wish.effort) report.clamped("reasoning_effort");
}

}  // namespace

void tell_gemini_thinking(Parameters& parameters, const GeminiModel& model, Json& config) {
  const ThinkingWish wish = take_thinking(parameters);
  if (wish.kind == ThinkingWish::Kind::kUnset) return;
  const bool off = wish.kind == ThinkingWish::Kind::kOff;
  if (off && wish.by_thinking && !wish.effort.empty()) parameters.dropped("reasoning_effort");
  switch (model.thinking()) {
    case GeminiModel::Thinking::kNone:
      if (!off) wish.drop(parameters);
      return;
    case GeminiModel::Thinking::kBudget:
      return off ? tell_no_budget(wish, model, parameters, config)
                 : tell_budget(wish, model, parameters, config);
    case GeminiModel::Thinking::kLevel:
      if (!off) return tell_level(wish, model, parameters, config);
      clamped(wish, parameters);
      config["thinkingConfig"] = {{"thinkingLevel", model.level("minimal")}};
  }
}

}  // namespace millrace::providers
