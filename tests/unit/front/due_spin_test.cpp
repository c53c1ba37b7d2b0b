#include <gtest/gtest.h>
#include <poll.h>

#include "api/front/spin_policy.h"

namespace millrace::front {
namespace {

using namespace std::chrono_literals;

class DueSpinTest : public testing::Test {
 protected:
  static constexpr bool kArrived = true, kNothing = false, kDue = true, kNotDue = false;

  void SetUp() override { ASSERT_GE(spin.begin(), 0); }

  bool can_be_read() const {
    pollfd one{spin.fd(), POLLIN, 0};
    return ::poll(&one, 1, 0) == 1;
  }

  const DueSpin::Clock::time_point start = DueSpin::Clock::now();
  DueSpin spin{500us};
};

TEST_F(DueSpinTest, WhileAnEventIsDueTheDescriptorIsReadable) {
  spin.after_turn(kNothing, kDue, start);
  EXPECT_TRUE(can_be_read());
  spin.after_turn(kNothing, kDue, start + 499us);
  EXPECT_TRUE(can_be_read());
  EXPECT_TRUE(spin.is_spinning());
}

TEST_F(DueSpinTest, WithNothingDueItSleeps) {
  spin.after_turn(kArrived, kNotDue, start);
  EXPECT_FALSE(can_be_read());
  spin.after_turn(kArrived, kDue, start);
  spin.after_turn(kNothing, kNotDue, start + 1us);
  EXPECT_FALSE(can_be_read());
  EXPECT_FALSE(spin.is_spinning());
}

// More requests are no reason to keep waiting for a store that makes no progress.
TEST_F(DueSpinTest, SpinningEndsWhenTheDueEventIsLate) {
  for (auto after = 0us; after <= 500us; after += 100us) spin.after_turn(kNothing, kDue, start + after);
  EXPECT_FALSE(can_be_read());
  spin.after_turn(kNothing, kDue, start + 10ms);
  EXPECT_FALSE(can_be_read());
}

TEST_F(DueSpinTest, AnArrivedEventRestartsTheTimeLimit) {
  spin.after_turn(kNothing, kDue, start);
  spin.after_turn(kArrived, kDue, start + 400us);
  spin.after_turn(kNothing, kDue, start + 800us);
  EXPECT_TRUE(can_be_read());
}

TEST_F(DueSpinTest, AnEventThatBecomesDueAgainGetsTheFullTime) {
  spin.after_turn(kNothing, kDue, start);
  spin.after_turn(kNothing, kDue, start + 500us);
  spin.after_turn(kNothing, kNotDue, start + 600us);
  spin.after_turn(kNothing, kDue, start + 700us);
  EXPECT_TRUE(can_be_read());
}

TEST_F(DueSpinTest, WithoutATimeItNeverSpins) {
  DueSpin never(0us);
  EXPECT_LT(never.begin(), 0);
  never.after_turn(kArrived, kDue, start);
  EXPECT_FALSE(never.is_spinning());
}

}  // namespace
}  // namespace millrace::front
