#pragma once
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ai/inference/routing/breaker.h"
#include "ai/inference/routing/limits.h"
#include "ai/inference/routing/registry.h"

namespace millrace::inference {

// The state of one target; it survives reloads. Loop thread only, except where its members say otherwise.
struct TargetState {
  TargetState(net::Loop& loop, std::function<void()> notify_capacity)
      : limiter(loop, std::move(notify_capacity)) {}
  Breaker& breaker(Work work) { return breakers_[static_cast<std::size_t>(work)]; }
  const Breaker& breaker(Work work) const { return breakers_[static_cast<std::size_t>(work)]; }
  Work worst(Breaker::Time now) const;  // the work whose breaker has the worst state, then most failures
  BreakerState breaker_state(Breaker::Time now) const { return breaker(worst(now)).state(now); }
  TargetLimiter limiter;
  std::atomic<std::int64_t> latency_ms{0};

 private:
  std::array<Breaker, kWorks> breakers_;
};
using TargetStatePtr = std::shared_ptr<TargetState>;

// The states of all targets used so far, by model and upstream. Thread-safe.
class Targets {
 public:
  static constexpr std::size_t kTargetsMax = 4096;  // beyond it, idle targets are removed
  // `notify_capacity`: as in TargetLimiter, for any target.
  explicit Targets(
      net::Loop& loop, std::function<void()> notify_capacity = [] {})
      : loop_(loop), notify_capacity_(std::move(notify_capacity)) {}

  TargetStatePtr of(const ModelRow& row);
  std::vector<TargetHealth> health(const Registry& registry);

 private:
  struct Known {
    std::string model, provider, upstream_model;
    TargetStatePtr state;
  };
  void forget_idle();
  net::Loop& loop_;
  const std::function<void()> notify_capacity_;
  std::mutex mutex_;
  std::map<std::string, Known> known_;
};

}  // namespace millrace::inference
