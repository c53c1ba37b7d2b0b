#pragma once
#include <chrono>
#include <cstdint>
#include <string>

#include "platform/base/result.h"

namespace millrace::inference {

// kOpen: the target is left alone; kHalfOpen: one call is let through to see how it is.
enum class BreakerState : std::uint8_t { kClosed, kHalfOpen, kOpen };

// How one target of a model is, for /metrics and people.
struct TargetHealth {
  std::string model, provider, upstream_model;
  BreakerState breaker = BreakerState::kClosed;
  int failures_in_a_row = 0;
  std::chrono::milliseconds opens_again{0};  // > 0: until the breaker lets a call through
  int running = 0, waiting = 0;              // calls
  std::chrono::milliseconds latency{0};      // of whole calls that went well, smoothed; 0: none yet
};

}  // namespace millrace::inference
