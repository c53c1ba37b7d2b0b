#include "ai/inference/routing/limits.h"

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

namespace {

using std::chrono::milliseconds;
using Pacing = RateLimiter::Pacing;
constexpr milliseconds kBusyAgain{1'000};  // assumed time until a running call ends
constexpr milliseconds kNow{0};

std::string counted(std::int64_t count, std::string_view what) {
  return std::to_string(count).append(" ").append(what).append(count == 1 ? "" : "s");
}

}  // namespace

// REQUIRES: mutex_.
TargetLimiter::Blocked TargetLimiter::blocked_by(const ModelLimits& limits, double tokens, Pacing pacing,
                                                 Time now) {
  if (pacing == Pacing::kSpread && paused_until_ > now)
    return {std::chrono::ceil<milliseconds>(paused_until_ - now), Bound::kPaused};
  if (limits.concurrent > 0 && running_ >= limits.concurrent) return {kBusyAgain, Bound::kConcurrent};
  const milliseconds requests = requests_.wait(limits.requests_per_minute, 1, pacing, now);
  const milliseconds all = tokens_.wait(limits.tokens_per_minute, tokens, pacing, now);
  return requests >= all ? Blocked{requests, Bound::kRequests} : Blocked{all, Bound::kTokens};
}

TargetLimiter::Blocked TargetLimiter::try_take(const ModelLimits& limits, std::int64_t tokens,
                                               Pacing pacing) {
  const Time now = std::chrono::steady_clock::now();
  const auto size = static_cast<double>(tokens);
  const std::lock_guard lock(mutex_);
  const Blocked by = blocked_by(limits, size, pacing, now);
  if (by.wait > kNow) return by;
  ++running_;
  requests_.take(limits.requests_per_minute, 1, pacing, now);
  tokens_.take(limits.tokens_per_minute, size, pacing, now);
  usual_tokens_ = usual_tokens_ == 0 ? size : (usual_tokens_ * 7 + size) / 8;
  return {};
}

std::string TargetLimiter::text(Bound bound, const ModelLimits& limits) {
  switch (bound) {
    case Bound::kPaused:
      break;
    case Bound::kConcurrent:
      return counted(limits.concurrent, "call") + " at a time";
    case Bound::kRequests:
      return counted(limits.requests_per_minute, "request") + " per minute";
    case Bound::kTokens:
      return counted(limits.tokens_per_minute, "token") + " per minute";
  }
  return {};
}

base::Status TargetLimiter::enter(const ModelLimits& limits, std::int64_t tokens, std::string_view model) {
  const Blocked by = try_take(limits, tokens, Pacing::kAtOnce);
  if (by.wait == kNow) return {};
  std::string message = "model '";
  message.append(model).append("' is at its limit of ").append(text(by.by, limits));
  base::Error error = base::error(base::Code::kRateLimited, std::move(message));
  error.retry_after = by.wait;
  return error;
}

net::Task<base::Status> TargetLimiter::wait(ModelLimits limits, std::int64_t tokens, int priority,
                                            net::Cancel& cancel) {
  if (waiting_.empty() && try_take(limits, tokens, Pacing::kSpread).wait == kNow) co_return base::Status();
  if (waiting_.size() >= kWaitingMax)
    co_return base::error(base::Code::kOverloaded,
                          "too many requests are waiting for this model; retry later");
  const QueueKey key{-priority, ++last_};
  net::StartCall<bool> begin = [&](std::function<void(bool)> done) -> std::function<void()> {
    waiting_.emplace(key, Waiter{limits, tokens, std::move(done)});
    ++waiting_count_;
    loop_.post([this, alive = std::weak_ptr<bool>(alive_)] {
      if (alive.lock()) admit_waiting();
    });
    return [this, key] { waiting_count_ -= static_cast<int>(waiting_.erase(key)); };
  };
  net::Task<std::optional<bool>> entered = net::cancellable<bool>(loop_, std::move(begin), cancel);
  const std::optional<bool> in = co_await entered;
  if (!in) co_return net::cancelled();
  co_return base::Status();
}

// An admitted waiter runs at once and may call `leave` before it returns. The loop here handles that.
void TargetLimiter::admit_waiting() {
  if (std::exchange(admitting_, true)) return;
  milliseconds wait = kNow;
  while (!waiting_.empty()) {
    const auto first = waiting_.begin();
    wait = try_take(first->second.limits, first->second.tokens, Pacing::kSpread).wait;
    if (wait > kNow) break;
    const auto enter = std::move(first->second.enter);
    waiting_.erase(first);
    --waiting_count_;
    enter(true);
  }
  admitting_ = false;
  timer_.cancel();
  if (waiting_.empty()) return;
  timer_ = loop_.after(wait, [this, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.lock()) admit_waiting();
  });
}

void TargetLimiter::charge(const ModelLimits& limits, int requests, std::int64_t tokens, Pacing pacing) {
  const Time now = std::chrono::steady_clock::now();
  {
    const std::lock_guard lock(mutex_);
    requests_.take(limits.requests_per_minute, requests, pacing, now);
    tokens_.take(limits.tokens_per_minute, static_cast<double>(tokens), pacing, now);
  }
  if (tokens < 0) notify_capacity_();
}

void TargetLimiter::leave() {
  --running_;
  if (!waiting_.empty()) admit_waiting();
  notify_capacity_();
}

void TargetLimiter::pause_for(milliseconds time) {
  const std::lock_guard lock(mutex_);
  paused_until_ = std::max(paused_until_, std::chrono::steady_clock::now() + time);
}

TargetLimiter::Capacity TargetLimiter::capacity(const ModelLimits& limits) {
  const Time now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  if (paused_until_ > now) return {.calls = 0, .wait = std::chrono::ceil<milliseconds>(paused_until_ - now)};
  Capacity capacity;
  const auto bounded = [&](double calls, milliseconds wait) {
    capacity.calls = static_cast<int>(std::clamp(calls, 0.0, static_cast<double>(capacity.calls)));
    if (calls < 1) capacity.wait = std::max(capacity.wait, wait);
  };
  if (limits.concurrent > 0) bounded(limits.concurrent - running_, kBusyAgain);
  if (const auto limit = limits.requests_per_minute; limit > 0)
    bounded(requests_.calls(limit, 1, now), requests_.wait(limit, 1, Pacing::kSpread, now));
  if (const auto limit = limits.tokens_per_minute; limit > 0) {
    const double size = usual_tokens_ == 0 ? RateBucket::burst(limit) : usual_tokens_;
    bounded(tokens_.calls(limit, size, now), tokens_.wait(limit, size, Pacing::kSpread, now));
  }
  if (const int waiting = waiting_count_; waiting > 0) bounded(capacity.calls - waiting, kBusyAgain);
  return capacity;
}

}  // namespace millrace::inference
