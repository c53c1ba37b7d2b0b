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

#include "ai/inference/routing/registry.h"
#include "platform/net/http/http_task.h"

// Implements the `…_per_minute` limits of a model. Not thread-safe. A limit of 0 means no limit.
namespace millrace::inference {

using SteadyTime = std::chrono::steady_clock::time_point;

// Sliding window: at most the limit in any 60 s, possibly all at once. A take above the limit is allowed when
// nothing else was taken in the window. Counts in slices of 500 ms. A slice counts until all of it is a
// minute old.
class RateWindow {
 public:
  // Time until `take` fits; 0: it fits now.
  std::chrono::milliseconds wait(std::int64_t limit, double take, SteadyTime now);
  void take(std::int64_t limit, double take, SteadyTime now);  // negative gives back
  // The remaining quota; negative if more than the limit was taken. REQUIRES: a limit.
  double left(std::int64_t limit, SteadyTime now);

 private:
  struct Slice {
    std::int64_t number;
    double taken;
  };
  double used(SteadyTime now);
  std::vector<Slice> slices_;  // oldest first
};

// Token bucket: spreads calls that are not urgent over the minute. A tenth of the limit is allowed at once,
// the rest evenly. A take above the level is allowed when the bucket is full; the debt is paid off before the
// next take.
class RateBucket {
 public:
  // What a full bucket allows at once.
  static double burst(std::int64_t limit);
  std::chrono::milliseconds wait(std::int64_t limit, double take, SteadyTime now);
  void take(std::int64_t limit, double take, SteadyTime now);
  // What the bucket allows now; negative if it is in debt. REQUIRES: a limit.
  double level(std::int64_t limit, SteadyTime now);

 private:
  void refill(std::int64_t limit, SteadyTime now);
  std::int64_t limit_ = 0;
  double level_ = 0;
  SteadyTime at_{};
};

// A limit of calls. Interactive calls (kAtOnce) obey the window only; queued calls (kSpread) obey window and
// bucket.
class RateLimiter {
 public:
  enum class Pacing : std::uint8_t { kAtOnce, kSpread };
  std::chrono::milliseconds wait(std::int64_t limit, double take, Pacing pacing, SteadyTime now);
  void take(std::int64_t limit, double take, Pacing pacing, SteadyTime now);
  // How many queued calls of `size` each are allowed now. REQUIRES: a limit.
  double calls(std::int64_t limit, double size, SteadyTime now);

 private:
  RateWindow window_;
  RateBucket spread_;
};

// Applies the limits of one target: concurrent calls, requests and tokens per minute (ModelLimits,
// RateLimiter). Loop thread only, except running(), waiting() and capacity().
class TargetLimiter {
 public:
  using Time = SteadyTime;
  static constexpr std::size_t kWaitingMax = 20'000;
  // `notify_capacity` is called on the loop's thread when there may be more capacity. It must not call this
  // object.
  explicit TargetLimiter(
      net::Loop& loop, std::function<void()> notify_capacity = [] {})
      : loop_(loop), notify_capacity_(std::move(notify_capacity)) {}
  ~TargetLimiter() { timer_.cancel(); }
  TargetLimiter(const TargetLimiter&) = delete;
  TargetLimiter& operator=(const TargetLimiter&) = delete;

  // Admits a call, with `tokens` as an estimate. Each success is followed by one `leave`. If there is no
  // capacity now: kRateLimited with retry_after; the message names `model` and the exhausted limit.
  base::Status enter(const ModelLimits& limits, std::int64_t tokens, std::string_view model);
  // Waits until the call is admitted, spread over the minute: higher priority first, then first come, first
  // served. Direct calls (`enter`) do not wait and may overtake. Errors: kOverloaded when kWaitingMax calls
  // wait; kJobCancelled.
  net::Task<base::Status> wait(ModelLimits limits, std::int64_t tokens, int priority, net::Cancel& cancel);
  // Corrects what was charged: `tokens` more (or fewer, if negative); `requests`: calls beyond the first.
  // `pacing`: kAtOnce after `enter`, kSpread after `wait`.
  void charge(const ModelLimits& limits, int requests, std::int64_t tokens, RateLimiter::Pacing pacing);
  void leave();
  // The target reported an overload: waiting calls also wait for this time. Direct calls are not held back.
  void pause_for(std::chrono::milliseconds time);

  // How many more calls could enter now, after the waiting ones, if they have the usual size of recent calls.
  // If none could, `wait` is the time until one may.
  struct Capacity {
    static constexpr int kNoLimit = 1 << 20;
    int calls = kNoLimit;
    std::chrono::milliseconds wait{0};
  };
  Capacity capacity(const ModelLimits& limits);

  int running() const { return running_; }
  int waiting() const { return waiting_count_; }

 private:
  struct Waiter {
    ModelLimits limits;
    std::int64_t tokens;
    std::function<void(bool)> enter;
  };
  using QueueKey = std::pair<int, std::uint64_t>;  // -priority, number
  enum class Bound : std::uint8_t { kPaused, kConcurrent, kRequests, kTokens };
  // Time until a call can be admitted, and the limit that blocks it; 0: the call has been admitted.
  struct Blocked {
    std::chrono::milliseconds wait{0};
    Bound by = Bound::kPaused;
  };
  Blocked try_take(const ModelLimits& limits, std::int64_t tokens, RateLimiter::Pacing pacing);
  Blocked blocked_by(const ModelLimits& limits, double tokens, RateLimiter::Pacing pacing, Time now);
  static std::string text(Bound bound, const ModelLimits& limits);
  void admit_waiting();

  net::Loop& loop_;
  std::function<void()> notify_capacity_;
  std::mutex mutex_;  // guards the next four members
  RateLimiter requests_, tokens_;
  double usual_tokens_ = 0;  // tokens of a call, smoothed; 0: no call yet
  Time paused_until_{};
  std::map<QueueKey, Waiter> waiting_;
  std::uint64_t last_ = 0;
  bool admitting_ = false;
  net::Loop::Timer timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::atomic<int> running_{0}, waiting_count_{0};
};

}  // namespace millrace::inference
