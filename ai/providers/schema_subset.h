#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ai/providers/json_access.h"

namespace millrace::providers {

// The part of JSON Schema that a provider accepts.
struct SchemaSubset {
  std::span<const std::string_view> keywords;
  // Whether it takes a keyword of the list with this value. Null: with every value.
  bool (*takes)(std::string_view keyword, const Json& value) = nullptr;
  bool (*lists)(const Json& value) = nullptr;  // the values that enum and const may have
  // Each object names all its members and has no others, and each schema has a type.
  bool is_closed = false;
  bool has_cycles = true;     // schemas may refer to themselves
  bool requires_all = false;  // each object requires all its members
  // References within a cycle may only be in properties that are not required.
  bool has_optional_cycles = false;
};

// A schema within a subset: what it accepts includes all that the given one accepts, except members without a
// name if the subset is closed.
struct SubsetSchema {
  Json schema;
  // Demands were left out. They are in the descriptions, in words.
  bool is_loosened = false;
};
// nullopt: the subset has no such schema, because it is closed, requires all members or has no cycles.
std::optional<SubsetSchema> schema_within(const SchemaSubset& subset, const Json& schema);

// A response format for the system prompt of a model that cannot have it as a parameter. Report it as
// clamped, so that the answer is checked.
std::string format_in_words(const Json& schema);

}  // namespace millrace::providers
