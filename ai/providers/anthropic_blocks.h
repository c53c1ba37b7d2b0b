#pragma once
#include <string_view>

#include "ai/providers/content_part.h"
#include "ai/providers/json_access.h"
#include "ai/providers/parameters.h"
#include "platform/base/result.h"

namespace millrace::providers {

// Content blocks of one message; blank text has none. Errors as anthropic_turns.
base::Result<Json> anthropic_blocks(const Json* content, Parameters& report, bool& names_files);
Json anthropic_text_block(std::string_view text, const Json* cache_control);

}  // namespace millrace::providers
