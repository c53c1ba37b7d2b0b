#pragma once
#include "ai/providers/json_access.h"
#include "ai/providers/parameters.h"

namespace millrace::providers {

inline constexpr std::size_t kCacheMarksMax = 4;  // Anthropic rejects a request with more

// Puts a `cache_control` on the last block that may have one. False: there is none.
bool mark_last(Json& blocks, const Json& mark);

// Keeps the last kCacheMarksMax marks of a request, in the order in which Anthropic reads it: tools, system,
// messages. Reports the others as clamped.
void limit_cache_marks(Json& wire, Parameters& report);

}  // namespace millrace::providers
