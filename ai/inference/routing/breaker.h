#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "platform/base/result.h"

namespace millrace::inference {

// kOpen: the target is not called. kHalfOpen: one probe call is allowed.
enum class BreakerState : std::uint8_t { kClosed, kHalfOpen, kOpen };

// The kinds of work of a target. One kind may fail while others succeed, so each has a separate breaker.
enum class Work : std::uint8_t { kChat, kEmbeddings, kImages, kSpeech, kTranscription, kOcr };
inline constexpr std::size_t kWorks = 6;

// The health of one target of a model, for /metrics and people.
struct TargetHealth {
  std::string model, provider, upstream_model;
  Work work = Work::kChat;  // the kind of work with the worst breaker; the next three fields are of that one
  BreakerState breaker = BreakerState::kClosed;
  int failures_in_a_row = 0;
  std::chrono::milliseconds time_to_probe{0};  // > 0: time until the breaker allows a call
  int running = 0, waiting = 0;                // calls
  std::chrono::milliseconds latency{0};        // of complete successful calls, smoothed; 0: none yet
};

// Circuit breaker: blocks calls to a target that has failed several times in a row. closed → open → half-open
// → closed, or back to open for twice as long. State changes on the loop's thread; getters are thread-safe.
class Breaker {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr int kFailures = 5;  // in a row
  static constexpr std::chrono::milliseconds kOpenTime{5'000}, kOpenTimeMax{120'000};

  // Permission for one call. In half-open there is one pass at a time, for the probe.
  class Pass {
    friend class Breaker;
    explicit Pass(std::uint64_t probe) : probe_(probe) {}
    std::uint64_t probe_;  // 0: the call is not a probe
  };
  // Each pass is followed by one `report` or `withdraw`. For calls that were in flight when the breaker
  // opened, neither has an effect: only the probe decides about the target.
  std::optional<Pass> admit(Time now);
  void report(Pass pass, bool healthy, Time now);
  void withdraw(Pass pass);  // the call was not sent, or its result does not show the target's health

  BreakerState state() const { return state_; }
  BreakerState state(Time now) const;  // kHalfOpen as soon as a call would be allowed
  int failures() const { return failures_; }
  std::chrono::milliseconds time_to_probe(Time now) const;  // 0: not open

 private:
  Pass probe();
  void open(Time now);
  std::atomic<BreakerState> state_{BreakerState::kClosed};
  std::atomic<int> failures_{0};
  std::atomic<Time> until_{Time{}};
  std::chrono::milliseconds open_time_{0};
  std::uint64_t probe_ = 0, last_probe_ = 0;  // probe_: the probe in flight; 0: none
};

}  // namespace millrace::inference
