#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>

#include "schemas/json/ordered_object.h"

namespace millrace::schemas {

// A JSON value whose objects keep the order of their members. Every tree that is passed on between client,
// provider, tool server and store has this type; nlohmann::json sorts the members.
using Json = nlohmann::basic_json<OrderedObject>;

// A number whose value neither a 64-bit integer nor a double keeps (json_number.h, keeps_value), as it is
// spelled. It is a binary value of this subtype in trees that are passed on; `dump` writes the spelling.
inline constexpr std::uint64_t kSpelledNumber = UINT64_MAX;
Json spelled_number(std::string_view spelling);
std::optional<std::string_view> spelling_of(const Json& value);  // nullopt: not such a number
void round_numbers(Json& tree);                                  // such numbers become the nearest doubles

}  // namespace millrace::schemas
