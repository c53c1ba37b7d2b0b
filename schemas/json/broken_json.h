#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/json/json.h"

// JSON of providers and tool servers may have broken text: bytes that are not UTF-8, and lone halves of
// surrogate pairs. Most of it comes from texts that were cut inside a character.
namespace millrace::schemas {

// UTF-8 without an escaped lone surrogate. The text may still be no JSON.
bool is_valid_utf8_json(std::string_view text);

// `text` as is_valid_utf8_json requires it: each broken character becomes U+FFFD. Two raw halves of a pair
// that follow each other are joined.
std::string repair_utf8_json(std::string_view text);

// As parse_json, for a text that is not is_valid_utf8_json. What is broken stays in the strings and names, as
// bytes that are not UTF-8: a lone surrogate as the three bytes that UTF-8 would have for it. The
// noncharacter U+FDD0 becomes U+FFFD.
std::optional<Json> parse_broken_json(std::string_view text, int depth_max);

// UTF-8: halves of a pair that follow each other are joined, every other broken character becomes U+FFFD.
std::string repair_utf8(std::string_view text);
// The same for all strings and names of a tree.
void repair_texts(Json& tree);

// The number of bytes at the end of `text` that begin a character whose rest may follow: an incomplete
// character, or the first half of a surrogate pair. 0: none.
std::size_t incomplete_suffix(std::string_view text);

}  // namespace millrace::schemas
