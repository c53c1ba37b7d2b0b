#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

// Tokens of texts that nobody has counted.
namespace millrace::schemas {

// About how many there are: for limits per minute, and for usage and price where an upstream says none. At
// least 1 of a text that is not empty, never more than its bytes. Tested bound: of prose in nine
// languages, code and tables not below cl100k_base's count by more than a fifth (but of Ukrainian, and of
// base64); above it by up to ten times, so it refuses nothing.
std::int64_t estimated_tokens(std::string_view text);

// How many there are at least, by cl100k_base and o200k_base alike: no text that fits a limit has more. Both
// cut a text into pieces before they look for tokens (words, up to three digits, signs in a row, blanks), and
// no token has more than kTokenBytesMax bytes. Counted are the pieces that are certain without a table of
// Unicode: those of ASCII, of Cyrillic and of accented Latin letters; of other scripts only the bytes count.
inline constexpr std::size_t kTokenBytesMax = 128;
std::int64_t least_tokens(std::string_view text);

}  // namespace millrace::schemas
