#pragma once
#include "ai/providers/gemini/model.h"
#include "ai/providers/json_access.h"
#include "ai/providers/parameters.h"
#include "platform/base/result.h"

namespace millrace::providers {

// Parts of one message's content; empty text gives none. Errors as in gemini_turns.
base::Result<Json> gemini_parts(const Json* content, Parameters& report);

// A conversation in Gemini's format.
struct GeminiContents {
  Json system_parts = Json::array();  // may be empty
  Json contents = Json::array();
};

// `messages`: in OpenAI's format. Results of calls go out in the order of their calls: models that give calls
// no ids match them by their place. kInvalidField: invalid content, or a tool result without a matching call.
base::Result<GeminiContents> gemini_contents(const Json& messages, const GeminiModel& model,
                                             Parameters& report);

}  // namespace millrace::providers
