#include <deque>

#include <gtest/gtest.h>

#include "ai/inference/routing/limits.h"

namespace millrace::inference {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using Time = SteadyTime;
using Pacing = RateLimiter::Pacing;
constexpr Time kBegin{std::chrono::hours(1)};

// The largest number of requests that `limit` admits in a minute under constant load.
template <class Limit, class... How>
std::size_t most_in_a_minute(Limit limit, std::int64_t bound, How... how) {
  std::deque<Time> last_minute;
  std::size_t most = 0;
  Time now = kBegin;
  for (int i = 0; i < 3000; ++i) {
    now += limit.wait(bound, 1, how..., now);
    limit.take(bound, 1, how..., now);
    while (!last_minute.empty() && now - last_minute.front() >= minutes(1)) last_minute.pop_front();
    last_minute.push_back(now);
    most = std::max(most, last_minute.size());
  }
  return most;
}

TEST(RateLimiter, NeverLetsMoreThanItsLimitThroughInAnyMinute) {
  for (const std::int64_t bound : {1, 2, 5, 9, 10, 60, 1000}) {
    EXPECT_EQ(most_in_a_minute(RateWindow(), bound), static_cast<std::size_t>(bound));
    EXPECT_LE(most_in_a_minute(RateBucket(), bound), static_cast<std::size_t>(bound));
    for (const Pacing pacing : {Pacing::kAtOnce, Pacing::kSpread})
      EXPECT_LE(most_in_a_minute(RateLimiter(), bound, pacing), static_cast<std::size_t>(bound));
  }
}

TEST(RateWindow, LetsAllOfItsLimitThroughAtOnceAndTheNextAMinuteLater) {
  RateWindow window;
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(milliseconds(0), window.wait(5, 1, kBegin));
    window.take(5, 1, kBegin);
  }
  const milliseconds wait = window.wait(5, 1, kBegin);
  EXPECT_GE(wait, minutes(1));
  EXPECT_LE(wait, milliseconds(60'500));
  EXPECT_EQ(milliseconds(0), window.wait(5, 5, kBegin + wait));
}

TEST(RateWindow, WaitsNoLongerThanUntilEnoughIsOld) {
  RateWindow window;
  window.take(10, 6, kBegin);
  window.take(10, 4, kBegin + seconds(30));
  EXPECT_LE(window.wait(10, 6, kBegin + seconds(40)), milliseconds(20'500));
  EXPECT_GT(window.wait(10, 7, kBegin + seconds(40)), seconds(50));
}

TEST(RateWindow, WhatIsGivenBackIsThereAgainAndNoMoreThanWasTaken) {
  RateWindow window;
  window.take(1000, 600, kBegin);
  window.take(1000, 400, kBegin + seconds(1));
  window.take(1000, -500, kBegin + seconds(2));
  EXPECT_EQ(500, window.left(1000, kBegin + seconds(2)));
  window.take(1000, -5000, kBegin + seconds(2));
  EXPECT_EQ(1000, window.left(1000, kBegin + seconds(2)));
}

TEST(RateWindow, ATakeAboveTheLimitGoesAloneAndIsPaidOff) {
  RateWindow window;
  EXPECT_EQ(milliseconds(0), window.wait(100, 600, kBegin));
  window.take(100, 600, kBegin);
  EXPECT_GE(window.wait(100, 1, kBegin), minutes(1));
  EXPECT_EQ(milliseconds(0), window.wait(100, 600, kBegin + milliseconds(60'500)));
}

TEST(RateBucket, LetsItsLimitThroughIfRequested) {
  RateBucket bucket;
  Time now = kBegin;
  for (int i = 0; i < 600; ++i) {
    now += bucket.wait(60, 1, now);
    bucket.take(60, 1, now);
  }
  EXPECT_LE(now - kBegin, minutes(12));
}

TEST(RateBucket, ATakeAboveTheBurstGoesWhenItIsFullAndIsPaidOff) {
  RateBucket bucket;
  EXPECT_EQ(milliseconds(0), bucket.wait(1000, 600, kBegin));
  bucket.take(1000, 600, kBegin);
  EXPECT_GT(bucket.wait(1000, 1, kBegin), seconds(30));
  bucket.take(1000, -600, kBegin);
  EXPECT_EQ(milliseconds(0), bucket.wait(1000, 1, kBegin));
}

TEST(RateLimiter, WithoutALimitNothingWaits) {
  RateLimiter limit;
  limit.take(0, 1e9, Pacing::kSpread, Time{});
  EXPECT_EQ(milliseconds(0), limit.wait(0, 1e9, Pacing::kSpread, Time{}));
}

}  // namespace
}  // namespace millrace::inference
