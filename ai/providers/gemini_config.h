#pragma once
#include "ai/providers/gemini_model.h"
#include "ai/providers/json_access.h"
#include "ai/providers/parameters.h"

namespace millrace::providers {

// Writes `generationConfig`: the sampling, the limits, thinking, the format of the answer.
void tell_gemini_config(Parameters& parameters, const GeminiModel& model, Json& wire);

// The caller's own words over what was made for him, member by member, at every depth; in either of the two
// spellings that Gemini reads (max_output_tokens, maxOutputTokens). Schemas go as they are.
void merge_gemini(Json& made, const Json& own);

}  // namespace millrace::providers
