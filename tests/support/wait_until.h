#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>

#include <poll.h>

namespace millrace::support {

inline constexpr std::chrono::milliseconds kDeadline{30'000};

// Returns true as soon as `holds()` is true, and false if it is still false after `deadline`. It checks every
// two milliseconds and waits with poll(2) without descriptors. Use it only for a state whose changes send no
// signal.
template <class Predicate>
bool wait_until(Predicate&& holds, std::chrono::milliseconds deadline = kDeadline) {
  const auto end = std::chrono::steady_clock::now() + deadline;
  while (!holds()) {
    if (std::chrono::steady_clock::now() >= end) return holds();
    ::poll(nullptr, 0, 2);
  }
  return true;
}

// The same for a state whose changes notify a condition variable. `lock` holds the mutex that guards the
// state.
template <class Predicate>
bool wait_until(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, Predicate&& holds,
                std::chrono::milliseconds deadline = kDeadline) {
  return changed.wait_for(lock, deadline, [&] { return holds(); });
}

}  // namespace millrace::support
