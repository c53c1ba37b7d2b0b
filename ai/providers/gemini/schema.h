#pragma once
#include "ai/providers/json_access.h"

namespace millrace::providers {

inline constexpr int kGeminiSchemaDepthMax = 24;
inline constexpr int kGeminiSchemaNodesMax = 4'096;  // after references are expanded

// Converts a JSON Schema to the form of Gemini's `parameters`, a subset of OpenAPI's. References are expanded
// (a cycle ends in a plain object), unions with null become `nullable`, oneOf becomes anyOf, allOf is merged,
// and unknown keywords are left out. Beyond the bounds, subschemas become plain objects.
Json gemini_schema(const Json& schema);

// Adds `propertyOrdering` to each object with two or more properties that has none: Gemini's models write the
// members of an object in its order.
void add_property_ordering(Json& schema);

}  // namespace millrace::providers
