#pragma once
#include <cstddef>
#include <optional>
#include <string_view>

namespace millrace::schemas {

// The double nearest to a JSON number of any size and length; outside the double range, the largest double of
// its sign. nullopt: `text` without trailing white space is not a JSON number.
std::optional<double> json_number(std::string_view text);

// True if a 64-bit integer or a double keeps the value of this JSON number. A fraction may be rounded to the
// nearest double; an integer may not, and no number may be beyond the range of a double.
bool keeps_value(std::string_view number);

// True if `text` has more than `max` JSON tokens: brackets, braces, commas, colons, strings, numbers and
// literals. It allocates no memory and accepts text that is not JSON: an unterminated string ends the text.
bool more_json_tokens_than(std::size_t max, std::string_view text);

}  // namespace millrace::schemas
