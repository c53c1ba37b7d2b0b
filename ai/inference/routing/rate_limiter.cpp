#include "ai/inference/routing/rate_limiter.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace millrace::inference {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kAtOnce{0};
constexpr milliseconds kSlice{500};
constexpr milliseconds kMinute{60'000};

std::int64_t slice_at(SteadyTime time) { return time.time_since_epoch() / kSlice; }
SteadyTime over_at(std::int64_t slice) { return SteadyTime((slice + 1) * kSlice + kMinute); }

// The refill rate of a bucket. In any minute: burst - 1 + 60 s of refill ≤ limit.
double per_ms(std::int64_t limit) {
  return (static_cast<double>(limit) - RateBucket::burst(limit) + 1) / 60'000;
}

}  // namespace

double RateWindow::used(SteadyTime now) {
  const auto young = std::find_if(slices_.begin(), slices_.end(),
                                  [&](const Slice& slice) { return over_at(slice.number) > now; });
  slices_.erase(slices_.begin(), young);
  double sum = 0;
  for (const Slice& slice : slices_) sum += slice.taken;
  return sum;
}

double RateWindow::left(std::int64_t limit, SteadyTime now) { return static_cast<double>(limit) - used(now); }

milliseconds RateWindow::wait(std::int64_t limit, double take, SteadyTime now) {
  if (limit <= 0) return kAtOnce;
  double missing = std::min(take, static_cast<double>(limit)) - left(limit, now);
  milliseconds wait = kAtOnce;
  for (auto slice = slices_.begin(); missing > 0 && slice != slices_.end(); ++slice) {
    missing -= slice->taken;
    wait = std::chrono::ceil<milliseconds>(over_at(slice->number) - now);
  }
  return wait;
}

void RateWindow::take(std::int64_t limit, double take, SteadyTime now) {
  if (limit <= 0) return;
  if (take >= 0) {
    const std::int64_t number = slice_at(now);
    if (slices_.empty() || slices_.back().number < number) slices_.push_back({number, 0});
    slices_.back().taken += take;
    return;
  }
  for (auto slice = slices_.rbegin(); take < 0 && slice != slices_.rend(); ++slice) {
    const double back = std::min(slice->taken, -take);
    slice->taken -= back;
    take += back;
  }
}

double RateBucket::burst(std::int64_t limit) {
  return std::max(1.0, std::floor(static_cast<double>(limit) / 10));
}

void RateBucket::refill(std::int64_t limit, SteadyTime now) {
  if (limit != std::exchange(limit_, limit)) {
    level_ = burst(limit);
  } else {
    const double passed = std::chrono::duration<double, std::milli>(now - at_).count();
    level_ = std::min(burst(limit), level_ + std::max(0.0, passed) * per_ms(limit));
  }
  at_ = now;
}

milliseconds RateBucket::wait(std::int64_t limit, double take, SteadyTime now) {
  if (limit <= 0) return kAtOnce;
  refill(limit, now);
  const double missing = std::min(take, burst(limit)) - level_;
  return missing <= 0 ? kAtOnce : milliseconds(static_cast<std::int64_t>(missing / per_ms(limit)) + 1);
}

void RateBucket::take(std::int64_t limit, double take, SteadyTime now) {
  if (limit <= 0) return;
  refill(limit, now);
  level_ = std::min(burst(limit), level_ - take);
}

double RateBucket::level(std::int64_t limit, SteadyTime now) {
  refill(limit, now);
  return level_;
}

milliseconds RateLimiter::wait(std::int64_t limit, double take, Pacing pacing, SteadyTime now) {
  const milliseconds wait = window_.wait(limit, take, now);
  return pacing == Pacing::kAtOnce ? wait : std::max(wait, spread_.wait(limit, take, now));
}

void RateLimiter::take(std::int64_t limit, double take, Pacing pacing, SteadyTime now) {
  window_.take(limit, take, now);
  if (pacing == Pacing::kSpread) spread_.take(limit, take, now);
}

double RateLimiter::calls(std::int64_t limit, double size, SteadyTime now) {
  const double most = static_cast<double>(limit);
  return std::min(window_.left(limit, now) / std::min(size, most),
                  spread_.level(limit, now) / std::min(size, RateBucket::burst(limit)));
}

}  // namespace millrace::inference
