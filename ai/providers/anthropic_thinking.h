#pragma once
#include "ai/providers/anthropic_model.h"
#include "ai/providers/json_access.h"
#include "ai/providers/parameters.h"

namespace millrace::providers {

inline constexpr std::int64_t kThinkingBudgetMin = 1'024;
inline constexpr std::int64_t kThinkingBudgetDefault = 8'192;

// What stands in the way of thinking in this request.
struct ThinkingObstacles {
  bool forced_call = false;  // the tool choice
  bool thoughtless = false;  // AnthropicTurns; only where thinking has a budget
};

// Writes `thinking` and `output_config.effort`, from `thinking` and `reasoning_effort`, as the model's
// generation takes them. REQUIRES: `wire` has max_tokens.
void tell_anthropic_thinking(Parameters& parameters, const ClaudeModel& model,
                             const ThinkingObstacles& obstacles, Json& wire);

// Writes temperature, top_p and top_k. REQUIRES: thinking has been told.
void tell_anthropic_sampling(Parameters& parameters, const ClaudeModel& model, Json& wire);

}  // namespace millrace::providers
