#pragma once
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace millrace::front {

// Decides whether an idle thread spins instead of sleeping (ADR 30). It spins if its last waits were all
// shorter than the maximum spin and each loop turn has few events. Uses no clock and no thread.
class SpinPolicy {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr int kShortWaits = 8;         // in a row
  static constexpr std::size_t kFewEvents = 2;  // events in a turn; requests in progress
  static constexpr std::chrono::microseconds kDescheduledMax{
      200};  // if descheduled for longer, other threads need the processor
  static constexpr std::chrono::milliseconds kYieldPeriod{100};  // how long it then does not spin

  // `most`: the longest single spin; 0: it never spins.
  explicit SpinPolicy(std::chrono::microseconds most) : most_(most) {}

  std::chrono::microseconds most() const { return most_; }
  // Records a loop turn with `events` events after a wait of `rest`, sleeping or spinning.
  void turn(std::size_t events, Clock::duration waited);
  // Records that the thread lost the processor for `how_long` while it was spinning.
  void on_descheduled(Clock::time_point now, Clock::duration how_long);

  bool waits_are_short() const { return short_waits_ >= kShortWaits; }
  bool may_wait(Clock::time_point now, std::size_t under_way) const;

 private:
  const std::chrono::microseconds most_;
  int short_waits_ = 0;
  Clock::time_point no_spin_until_ = Clock::time_point::min();
};

// Spinning of one front thread. If SpinPolicy allows it, the thread polls the sockets of the most recent
// clients without sleeping. Other events are handled afterwards. Used only on that thread.
class SpinWait {
 public:
  explicit SpinWait(std::chrono::microseconds most);
  ~SpinWait();
  SpinWait(const SpinWait&) = delete;
  SpinWait& operator=(const SpinWait&) = delete;

  void watch(int fd);  // permanently
  void begin_turn(std::size_t events);
  // A client has sent something. It is identified by its socket and a unique id, until it closes.
  void received(int fd, std::uint64_t id);
  // Why the spin ended: there was none, a watched socket is readable, the limit was reached, or other threads
  // need the processor.
  enum class SpinEnd : std::uint8_t { kNone, kReadable, kTimeout, kYielded };
  SpinEnd end_turn(std::size_t requests_under_way);

 private:
  SpinEnd wait(SpinPolicy::Clock::time_point began);

  SpinPolicy policy_;
  const int set_;  // epoll set of the polled sockets; -1: the kernel returned none, so this never spins
  std::array<std::uint64_t, SpinPolicy::kFewEvents> recent_clients_;  // ids of the most recent clients
  std::size_t oldest_ = 0;                                            // index of the oldest of these
  SpinPolicy::Clock::time_point turn_ended_{};
};

// Keeps a reactor's thread from sleeping while an event is due (ADR 34). It adds a level-triggered descriptor
// to the reactor's set. While that descriptor is readable, the reactor does not sleep and keeps polling all
// its descriptors. Used only on that thread.
class DueSpin {
 public:
  using Clock = std::chrono::steady_clock;

  // `most`: the longest time to stay awake for each due event; 0: never.
  explicit DueSpin(std::chrono::microseconds most) : most_(most) {}
  ~DueSpin();
  DueSpin(const DueSpin&) = delete;
  DueSpin& operator=(const DueSpin&) = delete;

  // Creates the descriptor; call once. -1: there is none, and the thread never stays awake.
  int begin();
  int fd() const { return fd_; }

  // Call after each turn. `had_events`: a due event arrived in this turn. `is_due`: an event is due now.
  void after_turn(bool had_events, bool is_due, Clock::time_point now);
  bool is_spinning() const { return spinning_; }

 private:
  void keep_spinning(bool on);

  const std::chrono::microseconds most_;
  int fd_ = -1;
  bool spinning_ = false;
  bool was_due_ = false;
  Clock::time_point since_{};  // since when an event is due, or when the last one arrived
};

}  // namespace millrace::front
