#include "tests/bench/measure/histogram.h"

#include <algorithm>
#include <bit>

namespace millrace::bench {

std::size_t Histogram::place(std::uint64_t nanoseconds) {
  if (nanoseconds < kSteps) return static_cast<std::size_t>(nanoseconds);
  const auto power = static_cast<std::size_t>(std::bit_width(nanoseconds)) - 7;  // kSteps = 2^6
  return (power + 1) * kSteps + static_cast<std::size_t>((nanoseconds >> power) - kSteps);
}

double Histogram::middle_ns(std::size_t place) {
  if (place < kSteps) return static_cast<double>(place);
  const std::size_t power = place / kSteps - 1;
  const auto step = static_cast<double>(std::uint64_t{1} << power);
  return (static_cast<double>(kSteps + place % kSteps) + 0.5) * step;
}

void Histogram::add(std::chrono::nanoseconds value) {
  const auto nanoseconds = static_cast<std::uint64_t>(std::max<std::int64_t>(0, value.count()));
  ++counts_[place(nanoseconds)];
  ++count_;
  max_ = std::max(max_, nanoseconds);
}

void Histogram::merge(const Histogram& other) {
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  max_ = std::max(max_, other.max_);
}

double Histogram::quantile_us(double quantile) const {
  if (count_ == 0) return 0;
  const auto wanted = static_cast<std::uint64_t>(quantile * static_cast<double>(count_));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen > wanted) return std::min(middle_ns(i), static_cast<double>(max_)) / 1e3;
  }
  return max_us();
}

}  // namespace millrace::bench
