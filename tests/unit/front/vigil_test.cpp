#include <gtest/gtest.h>
#include <poll.h>

#include "api/front/spin_policy.h"

namespace millrace::front {
namespace {

using namespace std::chrono_literals;

class DueSpinTest : public testing::Test {
 protected:
  static constexpr bool kCame = true, kNothing = false, kDue = true, kNotDue = false;

  void SetUp() override { ASSERT_GE(vigil.begin(), 0); }

  bool can_be_read() const {
    pollfd one{vigil.fd(), POLLIN, 0};
    return ::poll(&one, 1, 0) == 1;
  }

  const DueSpin::Clock::time_point start = DueSpin::Clock::now();
  DueSpin vigil{500us};
};

TEST_F(DueSpinTest, WhileSomethingIsDueItCanBeRead) {
  vigil.turn_ended(kNothing, kDue, start);
  EXPECT_TRUE(can_be_read());
  vigil.turn_ended(kNothing, kDue, start + 499us);
  EXPECT_TRUE(can_be_read());
  EXPECT_TRUE(vigil.is_spinning());
}

TEST_F(DueSpinTest, WithNothingDueItSleeps) {
  vigil.turn_ended(kCame, kNotDue, start);
  EXPECT_FALSE(can_be_read());
  vigil.turn_ended(kCame, kDue, start);
  vigil.turn_ended(kNothing, kNotDue, start + 1us);
  EXPECT_FALSE(can_be_read());
  EXPECT_FALSE(vigil.is_spinning());
}

// Clients that go on asking are no reason to wait for a store that stands.
TEST_F(DueSpinTest, WhatDoesNotComeInItsTimeIsNotWaitedFor) {
  for (auto after = 0us; after <= 500us; after += 100us) vigil.turn_ended(kNothing, kDue, start + after);
  EXPECT_FALSE(can_be_read());
  vigil.turn_ended(kNothing, kDue, start + 10ms);
  EXPECT_FALSE(can_be_read());
}

TEST_F(DueSpinTest, WhatComesBeginsTheTimeOfTheNextThing) {
  vigil.turn_ended(kNothing, kDue, start);
  vigil.turn_ended(kCame, kDue, start + 400us);
  vigil.turn_ended(kNothing, kDue, start + 800us);
  EXPECT_TRUE(can_be_read());
}

TEST_F(DueSpinTest, WhatBecomesDueAgainHasItsTime) {
  vigil.turn_ended(kNothing, kDue, start);
  vigil.turn_ended(kNothing, kDue, start + 500us);
  vigil.turn_ended(kNothing, kNotDue, start + 600us);
  vigil.turn_ended(kNothing, kDue, start + 700us);
  EXPECT_TRUE(can_be_read());
}

TEST_F(DueSpinTest, WithoutATimeItNeverSpins) {
  DueSpin never(0us);
  EXPECT_LT(never.begin(), 0);
  never.turn_ended(kCame, kDue, start);
  EXPECT_FALSE(never.is_spinning());
}

}  // namespace
}  // namespace millrace::front
