#pragma once
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace millrace::bench {

// A logarithmic histogram of durations with 64 steps per power of two: a quantile is accurate to 1.6 %. Not
// thread-safe.
class Histogram {
 public:
  void add(std::chrono::nanoseconds value);
  void merge(const Histogram& other);

  std::uint64_t count() const { return count_; }
  // The value below which the share `quantile` (0 … 1) of all values lies, in microseconds. 0 without values.
  double quantile_us(double quantile) const;
  double max_us() const { return static_cast<double>(max_) / 1e3; }

 private:
  static constexpr std::size_t kSteps = 64;
  static constexpr std::size_t kPowers = 64;
  static std::size_t place(std::uint64_t nanoseconds);
  static double middle_ns(std::size_t place);

  std::array<std::uint64_t, kSteps * kPowers> counts_{};
  std::uint64_t count_ = 0;
  std::uint64_t max_ = 0;
};

}  // namespace millrace::bench
