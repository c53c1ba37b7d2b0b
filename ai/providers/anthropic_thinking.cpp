#include "ai/providers/anthropic_thinking.h"

#include <algorithm>

#include "ai/providers/thinking_wish.h"

namespace millrace::providers {
namespace {

constexpr double kTemperatureMax = 1.0;
constexpr double kThinkingTopPMin = 0.95;

void tell_budget(const ThinkingWish& wish, const ThinkingObstacles& obstacles, Parameters& report,
                 Json& wire) {
  const std::int64_t room = wire["max_tokens"].get<std::int64_t>() - 1;
  std::optional<std::int64_t> wanted = wish.budget;
  if (wish.by_thinking) {
    if (!wish.effort.empty()) report.dropped("reasoning_effort");
    if (wish.adaptive) report.clamped("thinking");
  } else {
    wanted = budget_of_effort(wish.effort);
    if (!wanted) return wish.drop(report);
  }
  if (obstacles.forced_call || obstacles.thoughtless || room < kThinkingBudgetMin) return wish.drop(report);
  const std::int64_t budget = std::clamp(wanted.value_or(kThinkingBudgetDefault), kThinkingBudgetMin, room);
  if (wish.by_thinking && wanted && budget != *wanted) report.clamped("thinking");
  wire["thinking"] = {{"type", "enabled"}, {"budget_tokens", budget}};
}

// The effort that the model knows; empty: no such word.
std::string_view known_effort(std::string_view effort, const ClaudeModel& model) {
  if (effort == "minimal" || effort == "none") return "low";
  if (effort == "xhigh" || effort == "max") return model.at_least(4, 7) ? effort : "high";
  const bool known = effort == "low" || effort == "medium" || effort == "high";
  return known ? effort : std::string_view();
}

void tell_effort(std::string_view effort, const ClaudeModel& model, Parameters& report, Json& wire) {
  if (effort.empty()) return;
  const std::string_view told = known_effort(effort, model);
  if (told.empty()) return report.dropped("reasoning_effort");
  if (told != effort) report.clamped("reasoning_effort");
  wire["output_config"]["effort"] = told;
}

void tell_adaptive(const ThinkingWish& wish, const ThinkingObstacles& obstacles, const ClaudeModel& model,
                   Parameters& report, Json& wire) {
  tell_effort(wish.effort, model, report, wire);
  if (obstacles.forced_call) {
    if (wish.by_thinking) report.dropped("thinking");
    return;
  }
  if (wish.budget) {
    report.clamped("thinking");
    if (wish.effort.empty()) wire["output_config"]["effort"] = effort_of_budget(*wish.budget);
  }
  wire["thinking"] = {{"type", "adaptive"}};
  if (model.hides_thinking()) wire["thinking"]["display"] = "summarized";
}

void tell_off(const ThinkingWish& wish, const ClaudeModel& model, Parameters& report, Json& wire) {
  if (model.always_thinks()) {
    if (wish.by_thinking) report.dropped("thinking");
    return tell_effort(wish.effort, model, report, wire);
  }
  if (wish.by_thinking && model.takes_thinking_off()) wire["thinking"] = {{"type", "disabled"}};
  if (wish.by_thinking && !wish.effort.empty() && wish.effort != "none") report.dropped("reasoning_effort");
}

void tell_temperature(const Json& temperature, bool thinks, Parameters& report, Json& wire) {
  if (!temperature.is_number()) return report.dropped("temperature");
  const double wanted = temperature.get<double>();
  if (thinks) {
    if (wanted != kTemperatureMax) report.dropped("temperature");
    return;
  }
  if (wanted > kTemperatureMax || wanted < 0) {
    report.clamped("temperature");
    wire["temperature"] = std::clamp(wanted, 0.0, kTemperatureMax);
  } else {
    wire["temperature"] = temperature;
  }
}

void tell_top_p(const Json& top_p, bool thinks, Parameters& report, Json& wire) {
  wire["top_p"] = top_p;
  if (!thinks || !top_p.is_number() || top_p.get<double>() >= kThinkingTopPMin) return;
  report.clamped("top_p");
  wire["top_p"] = kThinkingTopPMin;
}

}  // namespace

void tell_anthropic_thinking(Parameters& parameters, const ClaudeModel& model,
                             const ThinkingObstacles& obstacles, Json& wire) {
  const ThinkingWish wish = take_thinking(parameters);
  if (wish.kind == ThinkingWish::Kind::kUnset) return;
  if (wish.kind == ThinkingWish::Kind::kOff) return tell_off(wish, model, parameters, wire);
  switch (model.thinking()) {
    case ClaudeModel::Thinking::kNone:
      return wish.drop(parameters);
    case ClaudeModel::Thinking::kBudget:
      return tell_budget(wish, obstacles, parameters, wire);
    case ClaudeModel::Thinking::kAdaptive:
      return tell_adaptive(wish, obstacles, model, parameters, wire);
  }
}

void tell_anthropic_sampling(Parameters& parameters, const ClaudeModel& model, Json& wire) {
  const Json* temperature = parameters.take("temperature");
  const Json* top_p = parameters.take("top_p");
  const Json* top_k = parameters.take("top_k");
  if (top_k != nullptr && integer_of(top_k) == 0) top_k = nullptr;  // no limit: the default
  const bool thinks = wire.contains("thinking") && text_of(wire["thinking"], "type") != "disabled";
  if (!model.takes_sampling()) {
    if (temperature != nullptr) parameters.dropped("temperature");
    if (top_p != nullptr) parameters.dropped("top_p");
    if (top_k != nullptr) parameters.dropped("top_k");
    return;
  }
  if (temperature != nullptr) tell_temperature(*temperature, thinks, parameters, wire);
  if (top_p != nullptr && wire.contains("temperature") && !model.takes_both_sampling()) {
    parameters.dropped("top_p");
  } else if (top_p != nullptr) {
    tell_top_p(*top_p, thinks, parameters, wire);
  }
  if (top_k != nullptr && thinks) parameters.dropped("top_k");
  if (top_k != nullptr && !thinks) wire["top_k"] = *top_k;
}

}  // namespace millrace::providers
