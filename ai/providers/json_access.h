#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/json/json.h"

// Reads JSON from untrusted sources. No function here throws, whatever the JSON contains.
namespace millrace::providers {

using schemas::Json;

inline constexpr int kWireDepthMax = 128;  // nesting depth of JSON from upstreams

// Broken text becomes U+FFFD (schemas/json/broken_json.h). nullopt: not JSON, or deeper than kWireDepthMax.
std::optional<Json> parse_wire(std::string_view text);

// Null if `object` is not an object, has no such member, or the member is null.
const Json* member(const Json& object, std::string_view name);
const Json* member(const Json* object, std::string_view name);
// The value of a string member; otherwise empty.
std::string_view text_of(const Json& object, std::string_view name);
std::string_view text_of(const Json* value);
// The integer part of a number; nullopt: not a number, or it does not fit.
std::optional<std::int64_t> integer_of(const Json* value);
std::optional<std::int64_t> integer_of(const Json& object, std::string_view name);
bool is_true(const Json* value);

// Resolves a `$ref` of a JSON Schema: "#", or "#" and a JSON pointer. Only within the document; nothing is
// fetched. Null: it does not resolve. The caller must bound references that lead to themselves.
const Json* referenced(const Json& root, std::string_view reference);

// A name in such a pointer, without its escapes ("~1", "%5B").
std::string unescaped_step(std::string_view step);

}  // namespace millrace::providers
