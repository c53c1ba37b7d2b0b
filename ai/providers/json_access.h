#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

// Looks into JSON that others wrote: nothing here throws, whatever it holds.
namespace millrace::providers {

using Json = nlohmann::json;

inline constexpr int kWireDepthMax = 128;  // of what upstreams send

// nullopt: no JSON, or deeper than kWireDepthMax.
std::optional<Json> parse_wire(std::string_view text);

// Null where `object` is none, has no such member, or it is null.
const Json* member(const Json& object, std::string_view name);
const Json* member(const Json* object, std::string_view name);
// The text of a string member, or empty.
std::string_view text_of(const Json& object, std::string_view name);
std::string_view text_of(const Json* value);
// A number's whole part; nullopt: no number, or none that fits.
std::optional<std::int64_t> integer_of(const Json* value);
std::optional<std::int64_t> integer_of(const Json& object, std::string_view name);
bool is_true(const Json* value);

// What a `$ref` of a JSON Schema means: "#", or a JSON pointer after it. Within the document alone, nothing
// is fetched; null: it leads nowhere. One that leads to itself is the caller's to bound.
const Json* referenced(const Json& root, std::string_view reference);

}  // namespace millrace::providers
