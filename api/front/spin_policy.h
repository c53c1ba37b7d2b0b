#pragma once
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace millrace::front {

// Whether a thread that has nothing to do had better wait awake than fall asleep (ADR 30): where its last
// rests were all shorter than it may wait, and it is told of little at a time. Knows no clock and no thread.
class SpinPolicy {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr int kShortRests = 8;         // in a row
  static constexpr std::size_t kFewEvents = 2;  // events of a turn; requests under way
  static constexpr std::chrono::microseconds kDescheduledMax{
      200};  // off the processor for longer: others need it
  static constexpr std::chrono::milliseconds kYieldPeriod{100};  // from then on

  // `most`: the longest single spin; 0: it never spins.
  explicit SpinPolicy(std::chrono::microseconds most) : most_(most) {}

  std::chrono::microseconds most() const { return most_; }
  // Records a loop turn with `events` events after a wait of `rest`, sleeping or spinning.
  void turn(std::size_t events, Clock::duration rest);
  // Records that the thread lost the processor for `how_long` while it was spinning.
  void was_away(Clock::time_point now, Clock::duration how_long);

  bool rests_are_short() const { return short_rests_ >= kShortRests; }
  bool may_wait(Clock::time_point now, std::size_t under_way) const;

 private:
  const std::chrono::microseconds most_;
  int short_rests_ = 0;
  Clock::time_point left_until_ = Clock::time_point::min();
};

// The rests of one front thread. Where RestJudge allows it, those that it heard last are looked at without
// falling asleep; what else comes meanwhile is taken after that. On that thread only.
class SpinWait {
 public:
  explicit SpinWait(std::chrono::microseconds most);
  ~SpinWait();
  SpinWait(const SpinWait&) = delete;
  SpinWait& operator=(const SpinWait&) = delete;

  void watch(int fd);  // for good
  void turn_begins(std::size_t events);
  // A client, by its socket and by a number that nobody else has ever had. Until it closes.
  void received(int fd, std::uint64_t id);
  // What ended the spin: there was none, a watched socket is readable, the limit was reached, or others need
  // the processor.
  enum class Rest : std::uint8_t { kNone, kReadable, kLongEnough, kLeftToOthers };
  Rest turn_ends(std::size_t requests_under_way);

 private:
  Rest wait(SpinPolicy::Clock::time_point began);

  SpinPolicy judge_;
  const int set_;  // the kernel's, of the sockets that are looked at; -1: it gave none, so this never waits
  std::array<std::uint64_t, SpinPolicy::kFewEvents> recent_clients_;  // of late
  std::size_t oldest_ = 0;                                            // of these
  SpinPolicy::Clock::time_point turn_ended_{};
};

// Keeps the thread of a reactor from falling asleep for what is due at once (ADR 34): a descriptor among
// those that it watches, by level, which can be read as long as it shall stay awake. It then goes on looking
// at all that it watches. On that thread only.
class DueSpin {
 public:
  using Clock = std::chrono::steady_clock;

  // Awake for at most so long for each thing that is due; 0: never.
  explicit DueSpin(std::chrono::microseconds most) : most_(most) {}
  ~DueSpin();
  DueSpin(const DueSpin&) = delete;
  DueSpin& operator=(const DueSpin&) = delete;

  // Makes the descriptor, once. -1: there is none, and it never stays awake.
  int begin();
  int fd() const { return fd_; }

  // After each turn: whether something that was due has come with it, and whether something is due.
  void turn_ended(bool had_events, bool is_due, Clock::time_point now);
  bool is_spinning() const { return spin_wait_; }

 private:
  void keep_spinning(bool on);

  const std::chrono::microseconds most_;
  int fd_ = -1;
  bool spin_wait_ = false;
  bool was_due_ = false;
  Clock::time_point since_{};  // something is due, or came last
};

}  // namespace millrace::front
