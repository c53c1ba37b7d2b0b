#include "api/admission/minute_rate.h"

#include <gtest/gtest.h>

#include "schemas/tenants/limits.h"

namespace millrace::api {
namespace {

using std::chrono::milliseconds;

base::BootTime at(std::int64_t ms) { return base::boot_from(ms); }

TEST(MinuteRate, WithoutALimitNothingIsCounted) {
  EXPECT_FALSE(MinuteRate().take("a", schemas::kUnlimited, at(0)).has_value());
}

TEST(MinuteRate, AtALimitOf0NothingPasses) {
  EXPECT_GT(MinuteRate().take("a", 0, at(0))->retry_after.count(), 0);
}

TEST(MinuteRate, AMinutesWorthPassesAtOnceAndThenOneAtATime) {
  MinuteRate rate;
  for (int left = 2; left >= 0; --left) {
    const auto count = rate.take("a", 3, at(1000));
    EXPECT_EQ(count->limit, 3);
    EXPECT_EQ(count->remaining, left);
    EXPECT_EQ(count->reset, milliseconds(20'000 * (3 - left)));
    EXPECT_EQ(count->retry_after.count(), 0);
  }
  const auto fourth = rate.take("a", 3, at(6000));
  EXPECT_EQ(fourth->remaining, 0);
  EXPECT_EQ(fourth->retry_after, milliseconds(15'000));
  EXPECT_EQ(rate.take("a", 3, at(21'000))->retry_after.count(), 0);
  EXPECT_GT(rate.take("a", 3, at(21'000))->retry_after.count(), 0);
  EXPECT_EQ(rate.take("a", 3, at(200'000))->remaining, 2);
}

TEST(MinuteRate, EachProcessGrantsItsPart) {
  int processes = 3;
  MinuteRate rate([&processes] { return processes; });
  EXPECT_EQ(rate.look("a", 9, at(0))->remaining, 9);
  for (int left : {6, 3, 0}) EXPECT_EQ(rate.take("a", 9, at(0))->remaining, left);
  const auto fourth = rate.take("a", 9, at(0));
  EXPECT_EQ(fourth->limit, 9);
  EXPECT_EQ(fourth->retry_after, milliseconds(20'000));
  EXPECT_EQ(rate.take("b", 2, at(0))->retry_after.count(), 0) << "at least one";
  EXPECT_GT(rate.take("b", 2, at(0))->retry_after.count(), 0);
  processes = 1;
  EXPECT_EQ(rate.take("a", 9, at(60'000))->remaining, 8);
}

TEST(MinuteRate, EachOwnerHasItsOwn) {
  MinuteRate rate;
  EXPECT_EQ(rate.take("a", 1, at(0))->retry_after.count(), 0);
  EXPECT_EQ(rate.take("b", 1, at(0))->retry_after.count(), 0);
  EXPECT_GT(rate.take("a", 1, at(0))->retry_after.count(), 0);
}

TEST(MinuteRate, ALargeLimitIsExact) {
  MinuteRate rate;
  for (int i = 0; i < 7'000; ++i) ASSERT_EQ(rate.take("a", 7'000, at(0))->retry_after.count(), 0) << i;
  EXPECT_GT(rate.take("a", 7'000, at(0))->retry_after.count(), 0);
}

TEST(MinuteRate, ALookCountsNothing) {
  MinuteRate rate;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(rate.look("a", 1, at(0))->retry_after.count(), 0);
  EXPECT_EQ(rate.take("a", 1, at(0))->retry_after.count(), 0);
  EXPECT_GT(rate.look("a", 1, at(0))->retry_after.count(), 0);
}

TEST(MinuteRate, AChargeAboveTheLimitIsWorkedOff) {
  MinuteRate rate;
  rate.charge("a", 60, 90, at(0));  // one unit a second
  EXPECT_EQ(rate.look("a", 60, at(0))->remaining, 0);
  EXPECT_EQ(rate.look("a", 60, at(0))->retry_after, milliseconds(31'000));
  EXPECT_EQ(rate.look("a", 60, at(31'000))->retry_after.count(), 0);
  EXPECT_EQ(rate.look("a", 60, at(90'000))->remaining, 60);
}

TEST(MinuteRate, AResetIsReportedInWholeSecondsRoundedUp) {
  EXPECT_EQ(reset_text(milliseconds(0)), "0s");
  EXPECT_EQ(reset_text(milliseconds(1)), "1s");
  EXPECT_EQ(reset_text(milliseconds(59'001)), "1m0s");
  EXPECT_EQ(reset_text(milliseconds(360'000)), "6m0s");
}

}  // namespace
}  // namespace millrace::api
