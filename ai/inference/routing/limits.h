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

// What `…_per_minute` of a model's limits means. Not thread-safe. A limit of 0: none.
namespace millrace::inference {

using SteadyTime = std::chrono::steady_clock::time_point;

// What was taken in the last minute: never more than the limit in any 60 s, all of it at once if need be.
// A take above the limit is let through when nothing else was taken. Counts in slices of 500 ms, each until
// all of it is a minute old.
class RateWindow {
 public:
  // How long until `take` fits; 0: it does now.
  std::chrono::milliseconds wait(std::int64_t limit, double take, SteadyTime now);
  void take(std::int64_t limit, double take, SteadyTime now);  // negative gives back
  // What is left of it; below 0: more was taken than there was. REQUIRES: a limit.
  double left(std::int64_t limit, SteadyTime now);

 private:
  struct Slice {
    std::int64_t number;
    double taken;
  };
  double used(SteadyTime now);
  std::vector<Slice> slices_;  // oldest first
};

// Spreads over the minute what need not hurry: a tenth of the limit at once, the rest evenly. A take above
// what is there is let through when the bucket is as full as it gets, and paid off before the next.
class RateBucket {
 public:
  // What a full one lets through at once.
  static double burst(std::int64_t limit);
  std::chrono::milliseconds wait(std::int64_t limit, double take, SteadyTime now);
  void take(std::int64_t limit, double take, SteadyTime now);
  // What it would let through at once; below 0 in debt. REQUIRES: a limit.
  double level(std::int64_t limit, SteadyTime now);

 private:
  void refill(std::int64_t limit, SteadyTime now);
  std::int64_t limit_ = 0;
  double level_ = 0;
  SteadyTime at_{};
};

// A limit as calls meet it: those that somebody waits for (kAtOnce) by the window alone, those of a queue
// (kSpread) by both.
class RateLimiter {
 public:
  enum class Manner : std::uint8_t { kAtOnce, kSpread };
  std::chrono::milliseconds wait(std::int64_t limit, double take, Manner manner, SteadyTime now);
  void take(std::int64_t limit, double take, Manner manner, SteadyTime now);
  // How many calls of a queue, of `size` each, could go now. REQUIRES: a limit.
  double calls(std::int64_t limit, double size, SteadyTime now);

 private:
  RateWindow window_;
  RateBucket spread_;
};

// The way to one target: calls at a time, requests and tokens per minute (ModelLimits, MinuteLimit). Loop
// thread only but for running(), waiting() and room().
class Gate {
 public:
  using Time = SteadyTime;
  static constexpr std::size_t kWaitingMax = 20'000;
  // `eased`: there may be more room than a moment ago; on the loop's thread, and it must not call here.
  explicit Gate(
      net::Loop& loop, std::function<void()> eased = [] {})
      : loop_(loop), eased_(std::move(eased)) {}
  ~Gate() { timer_.cancel(); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // A place, with `tokens` as an estimate; each success is followed by one `leave`. kRateLimited with
  // retry_after if there is none now, which names `model` and the limit that is used up.
  base::Status enter(const ModelLimits& limits, std::int64_t tokens, std::string_view model);
  // Waits for one, spread over the minute: by priority, higher first, then in the order of coming. Direct
  // calls do not wait, and so may overtake. kOverloaded: kWaitingMax; kJobCancelled.
  net::Task<base::Status> wait(ModelLimits limits, std::int64_t tokens, int priority, net::Cancel& cancel);
  // What was taken turned out to be `tokens` more (or less, negative); requests: calls beyond the first.
  // `manner`: kAtOnce of what has entered, kSpread of what has waited.
  void charge(const ModelLimits& limits, int requests, std::int64_t tokens, RateLimiter::Manner manner);
  void leave();
  // The target said that it had too much: those who wait do so until then, too. Direct calls find out for
  // themselves.
  void rest(std::chrono::milliseconds time);

  // How many more calls could enter now, of the size that calls had lately and after those that wait; without
  // any, when there may be one.
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
  using Place = std::pair<int, std::uint64_t>;  // -priority, number
  enum class Bound : std::uint8_t { kRest, kConcurrent, kRequests, kTokens };
  // How long until there is a place, and what keeps it; 0: it has been taken.
  struct Held {
    std::chrono::milliseconds wait{0};
    Bound by = Bound::kRest;
  };
  Held try_take(const ModelLimits& limits, std::int64_t tokens, RateLimiter::Manner manner);
  Held held(const ModelLimits& limits, double tokens, RateLimiter::Manner manner, Time now);
  static std::string text(Bound bound, const ModelLimits& limits);
  void let_in();

  net::Loop& loop_;
  std::function<void()> eased_;
  std::mutex mutex_;  // guards the next four
  RateLimiter requests_, tokens_;
  double usual_tokens_ = 0;  // of a call, smoothed; 0: none yet
  Time rests_until_{};
  std::map<Place, Waiter> waiting_;
  std::uint64_t last_ = 0;
  bool letting_in_ = false;
  net::Loop::Timer timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::atomic<int> running_{0}, waiting_count_{0};
};

}  // namespace millrace::inference
