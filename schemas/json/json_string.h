#pragma once
#include <optional>
#include <string_view>

namespace millrace::schemas {

// The inside of a JSON string that begins at `begin`, up to the quote that ends it; nullopt if none does
// before `end`.
std::optional<std::string_view> json_string_at(const char* begin, const char* end);

// False: the inside of a JSON string has an unknown escape or a lone surrogate.
bool has_good_escapes(std::string_view inside);

// Replaces the escapes of a JSON string's inside where it lies; the text that results is never longer. The
// bytes behind it are left over. nullopt: an unknown escape or a lone surrogate.
std::optional<std::string_view> unescape_in_place(char* begin, std::size_t size);

}  // namespace millrace::schemas
