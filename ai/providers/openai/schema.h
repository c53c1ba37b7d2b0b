#pragma once
#include <optional>

#include "ai/providers/families.h"
#include "ai/providers/schema_subset.h"

namespace millrace::providers {

// The published bounds of OpenAI's Structured Outputs for one schema.
inline constexpr std::size_t kStrictPropertiesMax = 5'000;
inline constexpr std::size_t kStrictNestedMax = 10;            // objects in each other
inline constexpr std::size_t kStrictTextMax = 120'000;         // characters of names, enum and const
inline constexpr std::size_t kStrictValuesMax = 1'000;         // of all enums
inline constexpr std::size_t kStrictLongEnum = 250;            // values of one enum, beyond which
inline constexpr std::size_t kStrictLongEnumTextMax = 15'000;  // its texts have this bound

// A JSON Schema as OpenAI accepts it with `strict`, in tools and in response_format. nullopt: it has open
// objects, optional members, values of any type, no object at its root, or exceeds a bound.
std::optional<SubsetSchema> openai_strict_schema(const Json& schema);

// A JSON Schema as xAI accepts it: without the keywords and forms that it rejects, and without references
// that lead back to themselves. xAI takes objects to be closed, so those without `properties` are opened.
SubsetSchema xai_schema(const Json& schema);

// Whether the two functions below change anything.
bool has_schema_rules(Dialect dialect);
struct SchemaFit {
  bool is_clamped = false;   // to be reported
  bool is_loosened = false;  // demands were left out, so the gateway checks a strict tool's arguments
};
// Changes the schema of a tool's `function` as this dialect of OpenAI's protocol requires it. A strict schema
// that cannot be expressed is sent without `strict`.
SchemaFit fit_tool_schema(Dialect dialect, Json& function);
// The same for the `json_schema` of a response_format. True: something is demanded less.
bool fit_answer_schema(Dialect dialect, Json& format);

}  // namespace millrace::providers
