#pragma once
#include <cstddef>
#include <optional>
#include <string_view>

#include <simdjson.h>

#include "schemas/json/json.h"

// For the sources of this module that parse client input.
namespace millrace::schemas {

// Small bodies share one parser per thread; a large body uses a separate parser, whose memory is freed
// afterwards.
inline constexpr std::size_t kSharedParserMax = 32u << 10;

// The calling thread's parser, for one document at a time of at most kSharedParserMax bytes.
simdjson::ondemand::parser& shared_parser();

// Parses a JSON text from outside, including all strings. If an object has a key twice, the last value
// counts. nullopt: not JSON, not UTF-8, a number outside the double range, or deeper than `depth_max`.
// Integers within that range that would change keep their spelling (kSpelledNumber).
std::optional<Json> parse_json(std::string_view text, int depth_max);

// The total bytes of all strings and member names of a tree.
std::size_t text_bytes(const Json& tree);
// About the bytes that a tree occupies: its texts and names, and its values.
std::size_t tree_bytes(const Json& tree);

}  // namespace millrace::schemas
