#pragma once
#include <optional>
#include <string_view>

namespace millrace::schemas {

// The content of the JSON string that begins at `begin`, without its quotes; nullopt: no closing quote before
// `end`.
std::optional<std::string_view> json_string_at(const char* begin, const char* end);

// False: a JSON string's content has an unknown escape or a lone surrogate.
bool has_good_escapes(std::string_view inside);

// Unescapes a JSON string's content in place. The result is never longer; the bytes after it are unspecified.
// nullopt: an unknown escape or a lone surrogate.
std::optional<std::string_view> unescape_in_place(char* begin, std::size_t size);

}  // namespace millrace::schemas
