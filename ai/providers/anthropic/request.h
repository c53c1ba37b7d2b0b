#pragma once
#include "ai/providers/anthropic/model.h"
#include "ai/providers/json_access.h"
#include "ai/providers/parameters.h"
#include "ai/providers/provider.h"

namespace millrace::providers {

// Translation::chat_request for Anthropic's Messages API.
base::Result<WireRequest> anthropic_request(const Target& target, const schemas::ChatRequest& request,
                                            bool stream);

inline constexpr std::int64_t kThinkingBudgetMin = 1'024;
inline constexpr std::int64_t kThinkingBudgetDefault = 8'192;

// What stands in the way of thinking in this request.
struct ThinkingObstacles {
  bool forced_call = false;  // the tool choice
  bool thoughtless = false;  // AnthropicTurns; only where thinking has a budget
};

// Writes `thinking` and `output_config.effort`, from `thinking` and `reasoning_effort`, as the model's
// generation takes them. REQUIRES: `wire` has max_tokens.
void write_anthropic_thinking(Parameters& parameters, const ClaudeModel& model,
                              const ThinkingObstacles& obstacles, Json& wire);

// Writes temperature, top_p and top_k. REQUIRES: thinking has been told.
void write_anthropic_sampling(Parameters& parameters, const ClaudeModel& model, Json& wire);

// Writes `tools` and `tool_choice` of a request to Anthropic, the server's own web search among them. True:
// the choice forces a call, which does not go together with thinking.
bool write_anthropic_tools(Parameters& parameters, const ClaudeModel& model, Json& wire);

}  // namespace millrace::providers
