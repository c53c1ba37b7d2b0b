#pragma once
#include "ai/providers/gemini/model.h"
#include "ai/providers/json_access.h"
#include "ai/providers/parameters.h"
#include "ai/providers/provider.h"

namespace millrace::providers {

// Translation::chat_request for Gemini's generateContent.
base::Result<WireRequest> gemini_request(const Target& target, const schemas::ChatRequest& request,
                                         bool stream);

// "models/gemini-x", as paths have it.
std::string gemini_model_path(std::string_view model);

// Writes `generationConfig`: the sampling, the limits, thinking, the format of the answer.
void write_gemini_config(Parameters& parameters, const GeminiModel& model, Json& wire);

// The caller's own words over what was made for him, member by member, at every depth; in either of the two
// spellings that Gemini reads (max_output_tokens, maxOutputTokens). Schemas go as they are.
void merge_gemini(Json& made, const Json& own);

// Writes `thinkingConfig` into `config`, from `thinking` and `reasoning_effort`, as the model's generation
// takes it: a budget (2.5) or a level (3).
void write_gemini_thinking(Parameters& parameters, const GeminiModel& model, Json& config);

// Writes `tools` and `toolConfig` of a request to Gemini, its search among them; what the caller says in
// tool_config overrules what was made from tool_choice.
void write_gemini_tools(Parameters& parameters, const GeminiModel& model, Json& wire);

}  // namespace millrace::providers
