#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace millrace::schemas {

// A parameter that was not sent unchanged to the model or engine (x-millrace-dropped-params).
struct DroppedParam {
  enum class How : std::uint8_t {
    kDropped,   // not honoured: `?strict=true` refuses it
    kClamped,   // sent with the value cut to a limit
    kEmulated,  // done by the gateway: n calls for `n`
  };
  std::string name;
  How how = How::kDropped;
  friend bool operator==(const DroppedParam&, const DroppedParam&) = default;
};
using DroppedParams = std::vector<DroppedParam>;

// "a, temperature;clamped, n;emulated": each name once, in order. Bytes that a header token may not contain
// are percent-encoded in UTF-8 ("é" → "%C3%A9", "a, b" → "a%2C%20b"); an empty name is `""`. A name above 128
// bytes and a list above 2,048 bytes are cut and end with "...". Empty: no parameter was dropped.
std::string dropped_text(const DroppedParams& dropped);

}  // namespace millrace::schemas
