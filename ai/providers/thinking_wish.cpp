#include "ai/providers/thinking_wish.h"

namespace millrace::providers {

void ThinkingWish::drop(Parameters& report) const {
  if (by_thinking) report.dropped("thinking");
  if (!effort.empty()) report.dropped("reasoning_effort");
}

ThinkingWish take_thinking(Parameters& parameters) {
  ThinkingWish wish;
  const Json* thinking = parameters.take("thinking");
  const Json* effort = parameters.take("reasoning_effort");
  wish.effort = text_of(effort);
  if (thinking != nullptr) {
    const std::string_view type = text_of(*thinking, "type");
    wish.by_thinking = true;
    wish.kind = type == "disabled" ? ThinkingWish::Kind::kOff : ThinkingWish::Kind::kOn;
    wish.adaptive = type == "adaptive";
    wish.budget = integer_of(*thinking, "budget_tokens");
  } else if (effort != nullptr) {
    wish.kind = wish.effort == "none" ? ThinkingWish::Kind::kOff : ThinkingWish::Kind::kOn;
  }
  return wish;
}

std::optional<std::int64_t> budget_of_effort(std::string_view effort) {
  if (effort == "minimal" || effort == "low") return 1'024;
  if (effort == "medium") return 8'192;
  if (effort == "high" || effort == "xhigh" || effort == "max") return 24'576;
  return std::nullopt;
}

std::string_view effort_of_budget(std::int64_t budget) {
  if (budget <= 4'096) return "low";
  return budget <= 16'384 ? "medium" : "high";
}

}  // namespace millrace::providers
