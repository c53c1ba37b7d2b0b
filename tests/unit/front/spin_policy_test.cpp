#include "api/front/spin_policy.h"

#include <gtest/gtest.h>

namespace millrace::front {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::microseconds kMostRest{50};
const SpinPolicy::Clock::time_point kNow{1h};

class RestJudgeTest : public testing::Test {
 protected:
  void rest_shortly(int times = SpinPolicy::kShortWaits) {
    for (int i = 0; i < times; ++i) policy_.turn(1, 20us);
  }

  SpinPolicy policy_{kMostRest};
};

TEST_F(RestJudgeTest, AThreadSpinsOnlyAfterSeveralShortWaits) {
  rest_shortly(SpinPolicy::kShortWaits - 1);
  EXPECT_FALSE(policy_.may_wait(kNow, 0));
  rest_shortly(1);
  EXPECT_TRUE(policy_.may_wait(kNow, 0));
}

TEST_F(RestJudgeTest, OneLongWaitEndsSpinning) {
  rest_shortly();
  policy_.turn(1, kMostRest);
  EXPECT_FALSE(policy_.may_wait(kNow, 0));
  rest_shortly(SpinPolicy::kShortWaits - 1);
  EXPECT_FALSE(policy_.may_wait(kNow, 0));
}

TEST_F(RestJudgeTest, ManyEventsPerTurnEndSpinning) {
  rest_shortly();
  policy_.turn(SpinPolicy::kFewEvents + 1, 1us);
  EXPECT_FALSE(policy_.may_wait(kNow, 0));
}

TEST_F(RestJudgeTest, SpinningNeedsFewRequestsInProgress) {
  rest_shortly();
  EXPECT_TRUE(policy_.may_wait(kNow, SpinPolicy::kFewEvents));
  EXPECT_FALSE(policy_.may_wait(kNow, SpinPolicy::kFewEvents + 1));
}

TEST_F(RestJudgeTest, ADescheduledThreadStopsSpinning) {
  rest_shortly();
  policy_.on_descheduled(kNow, SpinPolicy::kDescheduledMax);
  EXPECT_TRUE(policy_.may_wait(kNow, 0));
  policy_.on_descheduled(kNow, SpinPolicy::kDescheduledMax + 1us);
  EXPECT_FALSE(policy_.may_wait(kNow, 0));
  EXPECT_FALSE(policy_.may_wait(kNow + SpinPolicy::kYieldPeriod - 1us, 0));
  EXPECT_TRUE(policy_.may_wait(kNow + SpinPolicy::kYieldPeriod, 0));
}

TEST(SpinPolicy, WithAZeroLimitItNeverSpins) {
  SpinPolicy judge(0us);
  for (int i = 0; i < 2 * SpinPolicy::kShortWaits; ++i) judge.turn(1, 0us);
  EXPECT_FALSE(judge.may_wait(kNow, 0));
}

}  // namespace
}  // namespace millrace::front
