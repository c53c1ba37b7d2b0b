#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "platform/base/result.h"

namespace millrace::inference {

// kOpen: the target is left alone; kHalfOpen: one call is let through to see how it is.
enum class BreakerState : std::uint8_t { kClosed, kHalfOpen, kOpen };

// What targets are asked to do. One may fail at a target while the others go well: each has its own breaker.
enum class Work : std::uint8_t { kChat, kEmbeddings, kImages, kSpeech, kTranscription, kOcr };
inline constexpr std::size_t kWorks = 6;

// How one target of a model is, for /metrics and people.
struct TargetHealth {
  std::string model, provider, upstream_model;
  Work work = Work::kChat;  // that goes worst: of its breaker are the next three
  BreakerState breaker = BreakerState::kClosed;
  int failures_in_a_row = 0;
  std::chrono::milliseconds opens_again{0};  // > 0: until the breaker lets a call through
  int running = 0, waiting = 0;              // calls
  std::chrono::milliseconds latency{0};      // of whole calls that went well, smoothed; 0: none yet
};

// Leaves a target alone that has failed several times in a row: closed → open → half-open → closed, or open
// again for twice as long. Moves on the loop's thread; what it says of itself may be read by any.
class Breaker {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr int kFailures = 5;  // in a row
  static constexpr std::chrono::milliseconds kRest{5'000}, kRestMax{120'000};

  // Of a call that may go out. In half-open it is the probe's, and one at a time has it.
  class Pass {
    friend class Breaker;
    explicit Pass(std::uint64_t probe) : probe_(probe) {}
    std::uint64_t probe_;  // 0: the call is no probe
  };
  // Each pass is followed by one `report` or `withdraw`. Of calls that were out when the breaker opened
  // neither changes anything: only the probe says how the target is now.
  std::optional<Pass> admit(Time now);
  void report(Pass pass, bool healthy, Time now);
  void withdraw(Pass pass);  // it went out without saying how the target is, or not at all

  BreakerState state() const { return state_; }
  BreakerState state(Time now) const;  // half-open as soon as a call would be let through
  int failures() const { return failures_; }
  std::chrono::milliseconds opens_again(Time now) const;  // 0: not open

 private:
  Pass probe();
  void open(Time now);
  std::atomic<BreakerState> state_{BreakerState::kClosed};
  std::atomic<int> failures_{0};
  std::atomic<Time> until_{Time{}};
  std::chrono::milliseconds rest_{0};
  std::uint64_t probe_ = 0, last_probe_ = 0;  // probe_: the one that is out; 0: none
};

}  // namespace millrace::inference
