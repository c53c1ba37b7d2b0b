#pragma once
#include <cmath>
#include <cstdint>

namespace millrace::schemas {

// Money in 10^-9 US dollars: exact sums, and enough for 9 billion dollars.
using NanoUsd = std::int64_t;
inline constexpr NanoUsd kNanoPerUsd = 1'000'000'000;

// Rounds up, except for what the sum of binary fractions adds.
inline NanoUsd nano_usd(double usd) {
  return static_cast<NanoUsd>(std::ceil(usd * static_cast<double>(kNanoPerUsd) - 1e-3));
}
inline double usd(NanoUsd nano) { return static_cast<double>(nano) / static_cast<double>(kNanoPerUsd); }

// What calls to models used.
struct Charge {
  NanoUsd cost = 0;
  std::int64_t tokens = 0, audio_ms = 0;
};

}  // namespace millrace::schemas
