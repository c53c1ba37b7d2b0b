#pragma once
#include "ai/providers/gemini_model.h"
#include "ai/providers/json_access.h"
#include "ai/providers/parameters.h"

namespace millrace::providers {

// Writes `tools` and `toolConfig` of a request to Gemini, its search among them; what the caller says in
// tool_config overrules what was made from tool_choice.
void tell_gemini_tools(Parameters& parameters, const GeminiModel& model, Json& wire);

}  // namespace millrace::providers
