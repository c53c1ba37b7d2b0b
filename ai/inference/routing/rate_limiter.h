#pragma once
#include <chrono>
#include <cstdint>
#include <vector>

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

}  // namespace millrace::inference
