#pragma once
#include <chrono>

namespace millrace::front {

// Keeps the thread of a reactor from falling asleep for what is due at once (ADR 34): a descriptor among
// those that it watches, by level, which can be read as long as it shall stay awake. It then goes on looking
// at all that it watches. On that thread only.
class Vigil {
 public:
  using Clock = std::chrono::steady_clock;

  // Awake for at most so long after the last turn that brought something; 0: never.
  explicit Vigil(std::chrono::microseconds most);
  ~Vigil();
  Vigil(const Vigil&) = delete;
  Vigil& operator=(const Vigil&) = delete;

  int fd() const { return fd_; }  // -1: there is none, and it never stays awake

  // After each turn: whether it was told of something else than `fd`, and whether something is due.
  void turn_ended(bool brought_something, bool is_due, Clock::time_point now);
  bool stays_awake() const { return awake_; }

 private:
  const std::chrono::microseconds most_;
  const int fd_;
  bool awake_ = false;
  Clock::time_point last_brought_{};
};

}  // namespace millrace::front
