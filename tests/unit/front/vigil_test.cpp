#include "api/front/vigil.h"

#include <gtest/gtest.h>
#include <poll.h>

namespace millrace::front {
namespace {

using namespace std::chrono_literals;

class VigilTest : public testing::Test {
 protected:
  static constexpr bool kBrought = true, kNothing = false, kDue = true, kNotDue = false;

  bool can_be_read() const {
    pollfd one{vigil.fd(), POLLIN, 0};
    return ::poll(&one, 1, 0) == 1;
  }

  const Vigil::Clock::time_point start = Vigil::Clock::now();
  Vigil vigil{500us};
};

TEST_F(VigilTest, WhileSomethingIsDueItCanBeRead) {
  vigil.turn_ended(kBrought, kDue, start);
  EXPECT_TRUE(can_be_read());
  vigil.turn_ended(kNothing, kDue, start + 499us);
  EXPECT_TRUE(can_be_read());
  EXPECT_TRUE(vigil.stays_awake());
}

TEST_F(VigilTest, WithNothingDueItSleeps) {
  vigil.turn_ended(kBrought, kNotDue, start);
  EXPECT_FALSE(can_be_read());
  vigil.turn_ended(kBrought, kDue, start);
  vigil.turn_ended(kNothing, kNotDue, start + 1us);
  EXPECT_FALSE(can_be_read());
  EXPECT_FALSE(vigil.stays_awake());
}

TEST_F(VigilTest, WhatDoesNotComeInItsTimeIsNotWaitedFor) {
  vigil.turn_ended(kBrought, kDue, start);
  vigil.turn_ended(kNothing, kDue, start + 500us);
  EXPECT_FALSE(can_be_read());
}

TEST_F(VigilTest, EachTurnThatBringsSomethingBeginsItsTimeAnew) {
  vigil.turn_ended(kBrought, kDue, start);
  vigil.turn_ended(kBrought, kDue, start + 400us);
  vigil.turn_ended(kNothing, kDue, start + 800us);
  EXPECT_TRUE(can_be_read());
}

TEST_F(VigilTest, WithoutATimeItNeverStaysAwake) {
  Vigil never(0us);
  never.turn_ended(kBrought, kDue, start);
  EXPECT_LT(never.fd(), 0);
  EXPECT_FALSE(never.stays_awake());
}

}  // namespace
}  // namespace millrace::front
