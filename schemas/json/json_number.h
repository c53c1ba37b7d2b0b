#pragma once
#include <cstddef>
#include <optional>
#include <string_view>

namespace millrace::schemas {

// The double that is nearest to a JSON number, however large or long that is: beyond a double's range the
// largest of its sign. nullopt: `text`, white space at its end aside, is no JSON number.
std::optional<double> json_number(std::string_view text);

// True if `text` has more than `max` JSON tokens: brackets, braces, commas, colons, strings, numbers and
// literals. Needs no memory, and not to know whether the text is JSON: a string that does not end is its end.
bool more_json_tokens_than(std::size_t max, std::string_view text);

}  // namespace millrace::schemas
