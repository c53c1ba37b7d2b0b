#pragma once
#include "ai/providers/json_access.h"
#include "ai/providers/parameters.h"
#include "platform/base/result.h"

namespace millrace::providers {

// Parts of one message's content; empty text has none. Errors as gemini_turns.
base::Result<Json> gemini_parts(const Json* content, Parameters& report);

}  // namespace millrace::providers
