#pragma once
#include <chrono>
#include <cstddef>

namespace millrace::front {

// Whether a thread that has nothing to do had better wait awake than fall asleep (ADR 30): where its last
// rests were all shorter than it may wait, and it is told of little at a time. Knows no clock and no thread.
class RestJudge {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr int kShortRests = 8;                         // in a row
  static constexpr std::size_t kFew = 2;                        // events of a turn; requests under way
  static constexpr std::chrono::microseconds kRobbed{200};      // away for longer: others need the processor
  static constexpr std::chrono::milliseconds kLeftToThem{100};  // from then on

  // How long it may wait at a time; 0: never.
  explicit RestJudge(std::chrono::microseconds most) : most_(most) {}

  std::chrono::microseconds most() const { return most_; }
  // A turn of so many events, after a rest of so long, asleep or awake.
  void turn(std::size_t events, Clock::duration rest);
  // While it waited awake it had not had the processor for so long.
  void was_away(Clock::time_point now, Clock::duration how_long);

  bool rests_are_short() const { return short_rests_ >= kShortRests; }
  bool may_wait(Clock::time_point now, std::size_t under_way) const;

 private:
  const std::chrono::microseconds most_;
  int short_rests_ = 0;
  Clock::time_point left_until_ = Clock::time_point::min();
};

}  // namespace millrace::front
