#pragma once
#include "ai/providers/gemini_model.h"
#include "ai/providers/json_access.h"
#include "ai/providers/parameters.h"
#include "platform/base/result.h"

namespace millrace::providers {

// A conversation in Gemini's form.
struct GeminiTurns {
  Json system_parts = Json::array();  // may be empty
  Json contents = Json::array();
};

// `messages`: OpenAI's list. Errors: kInvalidField: content that is none, a result of a call that nobody
// made.
base::Result<GeminiTurns> gemini_turns(const Json& messages, const GeminiModel& model, Parameters& report);

}  // namespace millrace::providers
