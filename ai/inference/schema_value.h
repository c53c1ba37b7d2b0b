#pragma once
#include <cstddef>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace millrace::inference {

// What a value by itself has against the keywords of a schema that schema_form made: type, enum, const,
// bounds of numbers, texts, lists and objects, required, uniqueItems. Empty: nothing.
std::string value_fault(const nlohmann::json& schema, const nlohmann::json& value);

inline constexpr std::size_t kStepBytes = 64;  // of text are a step
// How many steps it takes to look at all of a tree: one for each value, and those of its texts and names.
std::size_t json_steps(const nlohmann::json& tree);
// The same for value_fault, from above.
std::size_t value_steps(const nlohmann::json& schema, const nlohmann::json& value);

}  // namespace millrace::inference
