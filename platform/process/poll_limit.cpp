#include "platform/process/poll_limit.h"

#include <algorithm>

namespace millrace::process {

int poll_limit(std::chrono::steady_clock::time_point deadline) {
  using std::chrono::milliseconds;
  const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<milliseconds::rep>(left, 0, 3'600'000));
}

}  // namespace millrace::process
