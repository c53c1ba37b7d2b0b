#pragma once
#include <chrono>
#include <cstdint>
#include <vector>

// What `…_per_minute` of a model's limits means. Not thread-safe. A limit of 0: none.
namespace millrace::inference {

using SteadyTime = std::chrono::steady_clock::time_point;

// What was taken in the last minute: never more than the limit in any 60 s, all of it at once if need be.
// A take above the limit is let through when nothing else was taken. Counts in slices of 500 ms, each until
// all of it is a minute old.
class MinuteWindow {
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
class MinuteBucket {
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
class MinuteLimit {
 public:
  enum class Manner : std::uint8_t { kAtOnce, kSpread };
  std::chrono::milliseconds wait(std::int64_t limit, double take, Manner manner, SteadyTime now);
  void take(std::int64_t limit, double take, Manner manner, SteadyTime now);
  // How many calls of a queue, of `size` each, could go now. REQUIRES: a limit.
  double calls(std::int64_t limit, double size, SteadyTime now);

 private:
  MinuteWindow window_;
  MinuteBucket spread_;
};

}  // namespace millrace::inference
