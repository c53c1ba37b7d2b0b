#pragma once
#include "ai/providers/anthropic_model.h"
#include "ai/providers/json_access.h"
#include "ai/providers/parameters.h"

namespace millrace::providers {

// Writes `tools` and `tool_choice` of a request to Anthropic, the server's own web search among them. True:
// the choice forces a call, which does not go together with thinking.
bool tell_anthropic_tools(Parameters& parameters, const ClaudeModel& model, Json& wire);

}  // namespace millrace::providers
