#pragma once
#include <cstddef>
#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>
#include <simdjson.h>

// For this room's sources that read what clients send.
namespace millrace::schemas {

// Small bodies share a parser per thread; a large one takes its own and gives its memory back.
inline constexpr std::size_t kSharedParserMax = 32u << 10;

// The calling thread's, for one document at a time of at most kSharedParserMax bytes.
simdjson::ondemand::parser& shared_parser();

// The tree of a JSON text that others wrote, with all its strings; of a key that comes twice in one object
// the last counts. nullopt: no JSON, not UTF-8, a number beyond a double, or deeper than `depth_max`.
std::optional<nlohmann::json> parse_json(std::string_view text, int depth_max);

// Bytes of all texts of a tree, and of the names of its members.
std::size_t text_bytes(const nlohmann::json& tree);

}  // namespace millrace::schemas
