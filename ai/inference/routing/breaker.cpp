#include "ai/inference/routing/breaker.h"

#include <algorithm>

namespace millrace::inference {

using std::chrono::milliseconds;

Breaker::Pass Breaker::probe() { return Pass(probe_ = ++last_probe_); }

std::optional<Breaker::Pass> Breaker::admit(Time now) {
  switch (state_.load()) {
    case BreakerState::kClosed:
      return Pass(0);
    case BreakerState::kOpen:
      if (now < until_.load()) return std::nullopt;
      state_ = BreakerState::kHalfOpen;
      return probe();
    case BreakerState::kHalfOpen:
      if (probe_ != 0) return std::nullopt;
      return probe();
  }
  return std::nullopt;
}

void Breaker::report(Pass pass, bool healthy, Time now) {
  const bool is_probe = pass.probe_ != 0 && pass.probe_ == probe_;
  if (!is_probe && state_ != BreakerState::kClosed) return;
  if (is_probe) probe_ = 0;
  if (healthy) {
    failures_ = 0;
    open_time_ = milliseconds(0);
    state_ = BreakerState::kClosed;
    return;
  }
  ++failures_;
  if (is_probe || failures_ >= kFailures) open(now);
}

void Breaker::withdraw(Pass pass) {
  if (pass.probe_ != 0 && pass.probe_ == probe_) probe_ = 0;
}

BreakerState Breaker::state(Time now) const {
  const BreakerState state = state_;
  return state == BreakerState::kOpen && now >= until_.load() ? BreakerState::kHalfOpen : state;
}

void Breaker::open(Time now) {
  open_time_ = open_time_.count() == 0 ? kOpenTime : std::min(open_time_ * 2, kOpenTimeMax);
  until_ = now + open_time_;
  state_ = BreakerState::kOpen;
}

milliseconds Breaker::time_to_probe(Time now) const {
  if (state_ != BreakerState::kOpen) return milliseconds(0);
  return std::max(milliseconds(1), std::chrono::ceil<milliseconds>(until_.load() - now));
}

}  // namespace millrace::inference
