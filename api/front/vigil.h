#pragma once
#include <chrono>

namespace millrace::front {

// Keeps the thread of a reactor from falling asleep for what is due at once (ADR 34): a descriptor among
// those that it watches, by level, which can be read as long as it shall stay awake. It then goes on looking
// at all that it watches. On that thread only.
class Vigil {
 public:
  using Clock = std::chrono::steady_clock;

  // Awake for at most so long for each thing that is due; 0: never.
  explicit Vigil(std::chrono::microseconds most) : most_(most) {}
  ~Vigil();
  Vigil(const Vigil&) = delete;
  Vigil& operator=(const Vigil&) = delete;

  // Makes the descriptor, once. -1: there is none, and it never stays awake.
  int begin();
  int fd() const { return fd_; }

  // After each turn: whether something that was due has come with it, and whether something is due.
  void turn_ended(bool has_come, bool is_due, Clock::time_point now);
  bool stays_awake() const { return awake_; }

 private:
  void stay_awake(bool wanted);

  const std::chrono::microseconds most_;
  int fd_ = -1;
  bool awake_ = false;
  bool was_due_ = false;
  Clock::time_point since_{};  // something is due, or came last
};

}  // namespace millrace::front
