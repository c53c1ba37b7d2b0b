#pragma once
#include "ai/providers/json_access.h"
#include "ai/providers/schema_subset.h"

namespace millrace::providers {

inline constexpr int kGeminiSchemaDepthMax = 24;
inline constexpr int kGeminiSchemaNodesMax = 4'096;  // after references are expanded

// Converts the JSON Schema of a tool's arguments to Gemini's `parameters`, a subset of OpenAPI's. It accepts
// all that the schema accepts, except empty texts of an enum. References are expanded, a cycle once; unions
// with null become `nullable`; alternatives stand alone; unknown keywords, and those of other types, are left
// out. Beyond the bounds only the types of subschemas stay. Objects with several properties get
// `propertyOrdering`: Gemini's models write the members of an object in its order.
Json gemini_parameters(const Json& schema);

// The same for `responseJsonSchema`, which takes more of JSON Schema.
SubsetSchema gemini_answer_schema(const Json& schema);

}  // namespace millrace::providers
