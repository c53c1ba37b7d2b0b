#pragma once
#include "ai/providers/json_access.h"

namespace millrace::providers {

inline constexpr int kGeminiSchemaDepthMax = 24;
inline constexpr int kGeminiSchemaNodesMax = 4'096;  // after references have been put in their places

// A JSON Schema as Gemini's `parameters` take it, a part of OpenAPI's: references in their places (a circle
// ends as a plain object), unions with null as `nullable`, oneOf as anyOf, allOf as one, unknown words left
// out. Deeper or larger than the bounds: plain objects there.
Json gemini_schema(const Json& schema);

}  // namespace millrace::providers
