#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "platform/base/result.h"
#include "schemas/json/json.h"

namespace millrace::schemas {

inline constexpr int kJsonDepthMax = 64;
inline constexpr std::size_t kLongString = 2048;  // bytes; longer strings are not copied into the tree
inline constexpr std::size_t kJsonPadding = 64;   // readable bytes that must follow a body
inline constexpr std::size_t kLongStringsMax = 4096;
inline constexpr std::size_t kJsonValuesMax = 100'000;  // of one body, at all depths; each value uses memory

// A parsed JSON request body. A string above kLongString bytes is not copied: it is unescaped in place. In
// `value` an empty binary represents it, whose subtype is the index in `long_strings`. The views point into
// the body.
struct JsonBody {
  Json value;
  std::vector<std::string_view> long_strings;

  // The text of a string, long or not; nullopt if `node` is not one.
  std::optional<std::string_view> text(const Json& node) const;
};

// What happens to numbers whose value a tree does not keep (json_number.h, keeps_value).
enum class Numbers : std::uint8_t {
  kNearest,  // the nearest double, beyond the range the largest; for bodies whose numbers are all checked
  kExact,    // refused; the error names the place
  kSpelled,  // the spelling stays (kSpelledNumber)
};

// `body` needs kJsonPadding bytes of capacity past its end. It is modified (see above), so compute
// fingerprints first. An empty body counts as `{}`. kBadRequest: not an object, not UTF-8, a lone surrogate,
// a duplicate key, deeper than kJsonDepthMax, more than `values_max` values, a number that `numbers` refuses.
// Thread-safe for different bodies.
base::Result<JsonBody> read_json(std::string& body, std::size_t values_max = kJsonValuesMax,
                                 Numbers numbers = Numbers::kNearest);

// The tree with a copy of each long string in its place; the body is not needed afterwards.
Json whole(JsonBody body);

// Serialises `value` to JSON; bytes that are not UTF-8 become U+FFFD. Never throws.
std::string dump(const Json& value);

}  // namespace millrace::schemas
