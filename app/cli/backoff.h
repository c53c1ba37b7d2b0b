#pragma once
#include <algorithm>
#include <chrono>

namespace millrace::cli {

// Pauses between polls of something that usually finishes at once. The first pause is 50 ms; each one is
// twice as long as the one before, up to 60 s and up to `most`.
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
