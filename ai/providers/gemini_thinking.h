#pragma once
#include "ai/providers/gemini_model.h"
#include "ai/providers/json_access.h"
#include "ai/providers/parameters.h"

namespace millrace::providers {

// Writes `thinkingConfig` into `config`, from `thinking` and `reasoning_effort`, as the model's generation
// takes it: a budget (2.5) or a level (3).
void tell_gemini_thinking(Parameters& parameters, const GeminiModel& model, Json& config);

}  // namespace millrace::providers
