#pragma once
#include <cstdint>
#include <string_view>

namespace millrace::engines {

// The letters (UTF-8, in reading order) that a presentation form of Hebrew or Arabic stands for: how a letter
// looks at a place in its word, or a ligature. Empty: the code point is no such form.
std::string_view letters_of_form(std::uint32_t code);

}  // namespace millrace::engines
