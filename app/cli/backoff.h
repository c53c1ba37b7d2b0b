#pragma once
#include <algorithm>
#include <chrono>

namespace millrace::cli {

// How long to pause before each question about what is usually done at once: from 50 ms, each twice as long
// as the one before, up to what is asked for.
class Backoff {
 public:
  std::chrono::milliseconds next(std::chrono::milliseconds most) {
    const auto pause = std::min(next_, most);
    next_ = std::min(next_ * 2, kLongest);
    return pause;
  }

 private:
  static constexpr std::chrono::milliseconds kLongest{60'000};
  std::chrono::milliseconds next_{50};
};

}  // namespace millrace::cli
