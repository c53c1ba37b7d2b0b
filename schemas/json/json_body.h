#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "platform/base/result.h"

namespace millrace::schemas {

inline constexpr int kJsonDepthMax = 64;
inline constexpr std::size_t kLongString = 2048;  // bytes; longer strings are not copied
inline constexpr std::size_t kJsonPadding = 64;   // readable bytes that a body must have past its end
inline constexpr std::size_t kLongStringsMax = 4096;
inline constexpr std::size_t kJsonValuesMax = 100'000;  // of one body, at all depths; each costs memory

// A request's JSON body, read once. A string of more than kLongString bytes is not copied: it is unescaped
// where it lies, and in `value` an empty binary whose subtype is its index in `long_strings` stands for it.
// Views point into the body.
struct JsonBody {
  nlohmann::json value;
  std::vector<std::string_view> long_strings;

  // The text of a string, long or not; nullopt if `node` is not one.
  std::optional<std::string_view> text(const nlohmann::json& node) const;
};

// `body` needs kJsonPadding bytes of capacity past its end, and changes (see above): take fingerprints first.
// An empty body is `{}`. kBadRequest: not an object, not UTF-8, a lone surrogate, a duplicate key, deeper
// than kJsonDepthMax, more than `values_max` values. A number that fits no integer is a double, one that
// fits none of those the largest of its sign. Thread-safe for different bodies.
base::Result<JsonBody> read_json(std::string& body, std::size_t values_max = kJsonValuesMax);

// The tree with its long strings in their places: one copy of each, and the body is not needed any more.
nlohmann::json whole(JsonBody body);

// JSON text of `value`; bytes that are not UTF-8 become U+FFFD. Never throws.
std::string dump(const nlohmann::json& value);

}  // namespace millrace::schemas
