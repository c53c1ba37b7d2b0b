#include "api/front/spin_policy.h"

#include <gtest/gtest.h>

namespace millrace::front {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::microseconds kMostRest{50};
const SpinPolicy::Clock::time_point kNow{1h};

class RestJudgeTest : public testing::Test {
 protected:
  void rest_shortly(int times = SpinPolicy::kShortRests) {
    for (int i = 0; i < times; ++i) judge_.turn(1, 20us);
  }

  SpinPolicy judge_{kMostRest};
};

TEST_F(RestJudgeTest, AThreadSleepsUntilItsRestsHaveBeenShortForAWhile) {
  rest_shortly(SpinPolicy::kShortRests - 1);
  EXPECT_FALSE(judge_.may_wait(kNow, 0));
  rest_shortly(1);
  EXPECT_TRUE(judge_.may_wait(kNow, 0));
}

TEST_F(RestJudgeTest, OneLongRestEndsIt) {
  rest_shortly();
  judge_.turn(1, kMostRest);
  EXPECT_FALSE(judge_.may_wait(kNow, 0));
  rest_shortly(SpinPolicy::kShortRests - 1);
  EXPECT_FALSE(judge_.may_wait(kNow, 0));
}

TEST_F(RestJudgeTest, ManyEventsAtATimeEndIt) {
  rest_shortly();
  judge_.turn(SpinPolicy::kFewEvents + 1, 1us);
  EXPECT_FALSE(judge_.may_wait(kNow, 0));
}

TEST_F(RestJudgeTest, ItIsForFewRequestsUnderWay) {
  rest_shortly();
  EXPECT_TRUE(judge_.may_wait(kNow, SpinPolicy::kFewEvents));
  EXPECT_FALSE(judge_.may_wait(kNow, SpinPolicy::kFewEvents + 1));
}

TEST_F(RestJudgeTest, WhereOthersNeedTheProcessorItIsLeftToThem) {
  rest_shortly();
  judge_.was_away(kNow, SpinPolicy::kDescheduledMax);
  EXPECT_TRUE(judge_.may_wait(kNow, 0));
  judge_.was_away(kNow, SpinPolicy::kDescheduledMax + 1us);
  EXPECT_FALSE(judge_.may_wait(kNow, 0));
  EXPECT_FALSE(judge_.may_wait(kNow + SpinPolicy::kYieldPeriod - 1us, 0));
  EXPECT_TRUE(judge_.may_wait(kNow + SpinPolicy::kYieldPeriod, 0));
}

TEST(SpinPolicy, WithoutATimeItNeverWaits) {
  SpinPolicy judge(0us);
  for (int i = 0; i < 2 * SpinPolicy::kShortRests; ++i) judge.turn(1, 0us);
  EXPECT_FALSE(judge.may_wait(kNow, 0));
}

}  // namespace
}  // namespace millrace::front
