#pragma once
#include <cstddef>
#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>

namespace millrace::schemas {

// The tree of a JSON text that others wrote, with all its strings; of a key that comes twice in one object
// the last counts. nullopt: no JSON, not UTF-8, a number beyond a double, or deeper than `depth_max`.
std::optional<nlohmann::json> parse_json(std::string_view text, int depth_max);

// Bytes of all texts of a tree, and of the names of its members.
std::size_t text_bytes(const nlohmann::json& tree);

}  // namespace millrace::schemas
