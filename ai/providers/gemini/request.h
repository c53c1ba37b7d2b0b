#pragma once
#include "ai/providers/gemini/model.h"
#include "ai/providers/json_access.h"
#include "ai/providers/parameters.h"
#include "ai/providers/provider.h"

namespace millrace::providers {

// Translation::chat_request for Gemini's generateContent.
base::Result<WireRequest> gemini_request(const Target& target, const schemas::ChatRequest& request,
                                         bool stream);

// "models/gemini-x", as used in paths.
std::string gemini_model_path(std::string_view model);

// Writes `generationConfig`: sampling, limits, thinking, and the format of the answer. `cap_output`: the
// limit of the request holds whatever its own generation_config has, and for one choice.
void write_gemini_config(Parameters& parameters, const GeminiModel& model, bool cap_output, Json& wire);

// Merges the settings of the caller (`own`) over the generated ones (`made`), member by member, at every
// depth. Accepts both spellings that Gemini reads (max_output_tokens, maxOutputTokens). Schemas are copied
// unchanged.
void merge_gemini(Json& made, const Json& own);

// Writes `thinkingConfig` into `config` from `thinking` and `reasoning_effort`, in the form that the model's
// generation accepts: a budget (2.5) or a level (3).
void write_gemini_thinking(Parameters& parameters, const GeminiModel& model, Json& config);

// Writes `tools` and `toolConfig` of a request to Gemini, including its search tool. The caller's tool_config
// overrides what is generated from tool_choice. True: a tool has `strict`, which functions of Gemini do not
// have, so its calls must be checked (WireRequest::loosened_tools).
bool write_gemini_tools(Parameters& parameters, const GeminiModel& model, Json& wire);

}  // namespace millrace::providers
