#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

// Estimates of token counts.
namespace millrace::schemas {

// An estimate for limits per minute, and for usage and price if an upstream returns none. At least 1 for a
// non-empty text, never more than its bytes. Tested: for prose in nine languages, code and tables, it is at
// most a fifth below cl100k_base's count (except Ukrainian and base64). It may be up to ten times too high,
// so it must not be used to refuse requests.
std::int64_t estimated_tokens(std::string_view text);

// A lower bound of the count by both cl100k_base and o200k_base, so a text that fits a limit is never
// refused. Both encodings split a text into pieces before they look for tokens (words, up to three digits,
// runs of punctuation, white space), and no token has more than kTokenBytesMax bytes. The function counts the
// pieces that are certain without Unicode tables: ASCII, Cyrillic and accented Latin letters. For other
// scripts it uses only the number of bytes.
inline constexpr std::size_t kTokenBytesMax = 128;
std::int64_t least_tokens(std::string_view text);

}  // namespace millrace::schemas
