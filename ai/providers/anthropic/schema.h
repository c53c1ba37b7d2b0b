#pragma once
#include <optional>

#include "ai/providers/schema_subset.h"

namespace millrace::providers {

// A JSON Schema as Anthropic accepts it in `output_config.format` and for strict tools. nullopt: it refers to
// itself, has objects whose members are not named, or values of any type.
std::optional<SubsetSchema> anthropic_strict_schema(const Json& schema);

// The published limits of one request's strict schemas: those of strict tools and of the output format. Other
// tools do not count.
inline constexpr int kStrictToolsMax = 20;
inline constexpr int kStrictOptionalMax = 24;  // members that are not required
inline constexpr int kStrictUnionsMax = 16;    // schemas with anyOf or a list of types

class StrictBudget {
 public:
  // `schema`: made by anthropic_strict_schema. False: it exceeds a limit and is not counted.
  bool admit_tool(const Json& schema) { return tools_ < kStrictToolsMax && admit(schema) && ++tools_ > 0; }
  bool admit(const Json& schema);

 private:
  int tools_ = 0, optional_ = 0, unions_ = 0;
};

}  // namespace millrace::providers
