#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
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

}  // namespace millrace::inference
