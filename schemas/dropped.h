#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace millrace::schemas {

// A parameter of a request that is not told to who answers as it was given (x-millrace-dropped-params).
struct DroppedParam {
  enum class How : std::uint8_t {
    kDropped,   // not honoured: `?strict=true` refuses it
    kClamped,   // told in a changed form: a value cut to a bound
    kEmulated,  // done by us: n calls for n
  };
  std::string name;
  How how = How::kDropped;
  friend bool operator==(const DroppedParam&, const DroppedParam&) = default;
};
using DroppedParams = std::vector<DroppedParam>;

// "a, temperature;clamped, n;emulated": each name once, in their order. What a header's token may not carry
// is percent-encoded in UTF-8 ("é" → "%C3%A9", "a, b" → "a%2C%20b"), a name without letters is `""`; a name
// and the list end with "..." where they pass their bounds (128 and 2,048 bytes). Empty for none.
std::string dropped_text(const DroppedParams& dropped);

}  // namespace millrace::schemas
