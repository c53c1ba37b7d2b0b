#pragma once
#include <cstdint>

#include <sys/timerfd.h>
#include <unistd.h>

#include "tests/bench/measure/socket.h"

namespace millrace::bench {

// A timer that fires `rate` times per second. Missed ticks fire immediately.
class Ticks {
 public:
  explicit Ticks(double rate) : timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) {
    const auto interval = static_cast<long>(1e9 / rate);
    const itimerspec times{{interval / 1'000'000'000, interval % 1'000'000'000}, {0, 1}};
    ::timerfd_settime(timer_.fd(), 0, &times, nullptr);
  }
  void wait() {
    if (due_ == 0 && ::read(timer_.fd(), &due_, sizeof due_) != sizeof due_) due_ = 1;
    --due_;
  }

 private:
  Socket timer_;  // owns the descriptor
  std::uint64_t due_ = 0;
};

}  // namespace millrace::bench
