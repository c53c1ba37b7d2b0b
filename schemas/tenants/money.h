#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace millrace::schemas {

// Money in 10^-9 US dollars: exact sums, and enough for 9 billion dollars.
using NanoUsd = std::int64_t;
inline constexpr NanoUsd kNanoPerUsd = 1'000'000'000;

// What does not fit counts as this much. The sum of two such amounts fits.
inline constexpr NanoUsd kNanoUsdMax = 4'000'000'000 * kNanoPerUsd;

// Rounds up, except for what the sum of binary fractions adds. Within ±kNanoUsdMax; NaN is the most.
inline NanoUsd nano_usd(double usd) {
  constexpr auto kMost = static_cast<double>(kNanoUsdMax);
  const double nano = std::ceil(usd * static_cast<double>(kNanoPerUsd) - 1e-3);
  return std::isnan(nano) ? kNanoUsdMax : static_cast<NanoUsd>(std::clamp(nano, -kMost, kMost));
}
inline double usd(NanoUsd nano) { return static_cast<double>(nano) / static_cast<double>(kNanoPerUsd); }

// Sums of what is paid: a sum that does not fit stays at kNanoUsdMax.
inline NanoUsd sum(NanoUsd a, NanoUsd b) {
  return std::min(std::min(a, kNanoUsdMax) + std::min(b, kNanoUsdMax), kNanoUsdMax);
}
inline NanoUsd without(NanoUsd sum, NanoUsd part) { return sum < kNanoUsdMax ? sum - part : sum; }

// What calls to models used.
struct Charge {
  NanoUsd cost = 0;
  std::int64_t tokens = 0, audio_ms = 0;
};

}  // namespace millrace::schemas
