#pragma once
#include <cstddef>
#include <string_view>

namespace millrace::schemas {

// True if `text` has more than `max` JSON tokens: brackets, braces, commas, colons, strings, numbers and
// literals. Needs no memory, and not to know whether the text is JSON: a string that does not end is its end.
bool more_json_tokens_than(std::size_t max, std::string_view text);

}  // namespace millrace::schemas
