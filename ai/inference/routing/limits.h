#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ai/inference/routing/rate_limiter.h"
#include "ai/inference/routing/registry.h"
#include "ai/inference/routing/tenant_shares.h"
#include "platform/net/http/http_task.h"

namespace millrace::inference {

// Applies the limits of one target: concurrent calls, requests and tokens per minute (ModelLimits,
// RateLimiter). While several tenants use the target, each has a share of them (TenantShares). Loop thread
// only, except running(), waiting() and capacity().
class TargetLimiter {
 public:
  using Time = SteadyTime;
  static constexpr int kWaitingMax = 20'000;
  static constexpr std::size_t kWaitingPerTenantMax = 10'000;
  // `notify_capacity` is called on the loop's thread when there may be more capacity. It must not call this
  // object.
  explicit TargetLimiter(
      net::Loop& loop, std::function<void()> notify_capacity = [] {})
      : loop_(loop), notify_capacity_(std::move(notify_capacity)) {}
  ~TargetLimiter() { timer_.cancel(); }
  TargetLimiter(const TargetLimiter&) = delete;
  TargetLimiter& operator=(const TargetLimiter&) = delete;

  // Whose call it is, and how many tokens it is expected to use.
  struct Call {
    std::string tenant{};
    std::int64_t tokens = 0;
  };
  // Admits a call. Each success is followed by one `leave`. If there is no capacity now: kRateLimited with
  // retry_after; the message names `model` and the exhausted limit.
  base::Status enter(const ModelLimits& limits, const Call& call, std::string_view model);
  // Waits until the call is admitted, spread over the minute. The tenant with the fewest running calls goes
  // first, and tenants that run equally many take turns; within a tenant, higher priority first, then first
  // come, first served. Direct calls (`enter`) do not wait and may overtake. Errors: kOverloaded when
  // kWaitingMax calls wait, or kWaitingPerTenantMax of the tenant; kJobCancelled.
  net::Task<base::Status> wait(ModelLimits limits, Call call, int priority, net::Cancel& cancel);
  // Corrects what was charged: `call.tokens` more (or fewer, if negative); `requests`: calls beyond the
  // first. `pacing`: kAtOnce after `enter`, kSpread after `wait`.
  void charge(const ModelLimits& limits, int requests, const Call& call, RateLimiter::Pacing pacing);
  void leave(const std::string& tenant);
  // The target reported an overload: waiting calls also wait for this time. Direct calls are not held back.
  void pause_for(std::chrono::milliseconds time);

  // How many more calls of the tenant could enter now, after its waiting ones, if they have the usual size of
  // recent calls. If none could, `wait` is the time until one may.
  struct Capacity {
    static constexpr int kNoLimit = 1 << 20;
    int calls = kNoLimit;
    std::chrono::milliseconds wait{0};
  };
  Capacity capacity(const ModelLimits& limits, const std::string& tenant);

  int running() const { return running_; }
  int waiting() const { return waiting_count_; }

 private:
  struct Waiter {
    ModelLimits limits;
    Call call;
    std::function<void(bool)> enter;
  };
  using QueueKey = std::pair<int, std::uint64_t>;  // -priority, number
  using Queue = std::map<QueueKey, Waiter>;        // of one tenant
  enum class Bound : std::uint8_t { kPaused, kConcurrent, kRequests, kTokens };
  // Time until a call can be admitted, and the limit that blocks it; 0: the call has been admitted.
  struct Blocked {
    std::chrono::milliseconds wait{0};
    Bound by = Bound::kPaused;
    bool of_tenant = false;  // the tenant's share of that limit blocks it
  };
  Blocked try_take(const ModelLimits& limits, const Call& call, RateLimiter::Pacing pacing);
  Blocked blocked_by(const ModelLimits& limits, double tokens, RateLimiter::Pacing pacing, Time now);
  Blocked blocked_by_share(const ModelLimits& limits, const Call& call, Time now);
  static std::string text(const Blocked& blocked, const ModelLimits& limits);
  void admit_waiting();
  std::chrono::milliseconds admit_one();
  std::vector<std::map<std::string, Queue>::iterator> queues_in_order();
  void count_waiting(const std::string& tenant, int count);
  void remove_waiter(const std::string& tenant, const QueueKey& key);

  net::Loop& loop_;
  std::function<void()> notify_capacity_;
  std::mutex mutex_;  // guards the next five members
  RateLimiter requests_, tokens_;
  TenantShares shares_;
  double usual_tokens_ = 0;  // tokens of a call, smoothed; 0: no call yet
  Time paused_until_{};
  std::map<std::string, Queue> waiting_;  // by tenant
  std::string last_admitted_;             // tenant
  std::uint64_t last_ = 0;
  bool admitting_ = false;
  net::Loop::Timer timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::atomic<int> running_{0}, waiting_count_{0};
};

}  // namespace millrace::inference
