#pragma once
#include <cstddef>
#include <string_view>

namespace millrace::base {

bool is_utf8(std::string_view text);

// The character that a text begins with. If it is broken, `size` is the length of its valid beginning, at
// least 1.
struct Utf8Character {
  std::size_t size = 1;
  std::size_t needed = 1;  // bytes of the whole character; 0: none begins with this byte
  bool is_whole() const { return size == needed; }
};
// REQUIRES: `text` is not empty.
Utf8Character utf8_character(std::string_view text);

// The number of bytes of an incomplete character at the end of `text`, 0 to 3; more bytes can complete it.
std::size_t incomplete_utf8(std::string_view text);

}  // namespace millrace::base
