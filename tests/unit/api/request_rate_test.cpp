#include "api/admission/request_rate.h"

#include <gtest/gtest.h>

namespace millrace::api {
namespace {

using std::chrono::milliseconds;

base::BootTime at(std::int64_t ms) { return base::boot_from(ms); }

TEST(RequestRate, WithoutALimitNothingIsCounted) {
  EXPECT_FALSE(RequestRate(0).count("a", at(0)).has_value());
}

TEST(RequestRate, AMinutesWorthPassesAtOnceAndThenOneAtATime) {
  RequestRate rate(3);
  for (int left = 2; left >= 0; --left) {
    const auto count = rate.count("a", at(1000));
    EXPECT_EQ(count->limit, 3);
    EXPECT_EQ(count->remaining, left);
    EXPECT_EQ(count->reset, milliseconds(20'000 * (3 - left)));
    EXPECT_EQ(count->retry_after.count(), 0);
  }
  const auto fourth = rate.count("a", at(6000));
  EXPECT_EQ(fourth->remaining, 0);
  EXPECT_EQ(fourth->retry_after, milliseconds(15'000));
  EXPECT_EQ(rate.count("a", at(21'000))->retry_after.count(), 0);
  EXPECT_GT(rate.count("a", at(21'000))->retry_after.count(), 0);
  EXPECT_EQ(rate.count("a", at(200'000))->remaining, 2);
}

TEST(RequestRate, EachKeyHasItsOwn) {
  RequestRate rate(1);
  EXPECT_EQ(rate.count("a", at(0))->retry_after.count(), 0);
  EXPECT_EQ(rate.count("b", at(0))->retry_after.count(), 0);
  EXPECT_GT(rate.count("a", at(0))->retry_after.count(), 0);
}

TEST(RequestRate, ALargeLimitIsExact) {
  RequestRate rate(7'000);
  for (int i = 0; i < 7'000; ++i) ASSERT_EQ(rate.count("a", at(0))->retry_after.count(), 0) << i;
  EXPECT_GT(rate.count("a", at(0))->retry_after.count(), 0);
}

TEST(RequestRate, AResetIsReportedInWholeSecondsRoundedUp) {
  EXPECT_EQ(reset_text(milliseconds(0)), "0s");
  EXPECT_EQ(reset_text(milliseconds(1)), "1s");
  EXPECT_EQ(reset_text(milliseconds(59'001)), "1m0s");
  EXPECT_EQ(reset_text(milliseconds(360'000)), "6m0s");
}

}  // namespace
}  // namespace millrace::api
