#pragma once
#include "ai/providers/anthropic/model.h"
#include "ai/providers/anthropic/schema.h"
#include "ai/providers/json_access.h"
#include "ai/providers/parameters.h"
#include "ai/providers/provider.h"

namespace millrace::providers {

// Translation::chat_request for Anthropic's Messages API.
base::Result<WireRequest> anthropic_request(const Target& target, const schemas::ChatRequest& request,
                                            bool stream);

inline constexpr std::int64_t kThinkingBudgetMin = 1'024;
inline constexpr std::int64_t kThinkingBudgetDefault = 8'192;

// Reasons why this request cannot use thinking.
struct ThinkingObstacles {
  bool forced_call = false;     // the tool choice forces a call
  bool lacks_thinking = false;  // see AnthropicMessages; only if thinking has a budget
};

// Writes `thinking` and `output_config.effort` from `thinking` and `reasoning_effort`, in the form that the
// model's generation accepts. REQUIRES: `wire` has max_tokens.
void write_anthropic_thinking(Parameters& parameters, const ClaudeModel& model,
                              const ThinkingObstacles& obstacles, Json& wire);

// Writes temperature, top_p and top_k. REQUIRES: thinking has been written.
void write_anthropic_sampling(Parameters& parameters, const ClaudeModel& model, Json& wire);

struct AnthropicTools {
  bool forced_call = false;  // by the choice, which excludes thinking
  bool loosened = false;     // WireRequest::loosened_tools
};
// Writes `tools` and `tool_choice` of a request to Anthropic, including its web search tool. Strict tools
// beyond `budget` are sent without `strict`. `one_call`: unless the request says otherwise, an answer has at
// most one call.
AnthropicTools write_anthropic_tools(Parameters& parameters, const ClaudeModel& model, StrictBudget& budget,
                                     bool one_call, Json& wire);

// True: `wire` has a tool that Anthropic runs, so it may pause its turn.
bool has_server_tools(const Json& wire);

}  // namespace millrace::providers
