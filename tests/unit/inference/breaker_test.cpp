#include "ai/inference/routing/breaker.h"

#include <vector>

#include <gtest/gtest.h>

namespace millrace::inference {
namespace {

using std::chrono::milliseconds;

struct Opened : ::testing::Test {
  Breaker breaker;
  Breaker::Time now{std::chrono::hours(1)};
  void fail(int times) {
    for (int i = 0; i < times; ++i) {
      const auto pass = breaker.admit(now);
      ASSERT_TRUE(pass);
      breaker.report(*pass, false, now);
    }
  }
};

TEST_F(Opened, SeveralFailuresInARowOpenItAndASuccessBetweenDoesNot) {
  fail(Breaker::kFailures - 1);
  const auto pass = breaker.admit(now);
  ASSERT_TRUE(pass);
  breaker.report(*pass, true, now);
  fail(Breaker::kFailures - 1);
  EXPECT_EQ(BreakerState::kClosed, breaker.state());
  fail(1);
  EXPECT_EQ(BreakerState::kOpen, breaker.state());
  EXPECT_FALSE(breaker.admit(now));
  EXPECT_EQ(Breaker::kOpenTime, breaker.time_to_probe(now));
}

TEST_F(Opened, AfterTheOpenTimeOneProbeIsAllowedAndItsSuccessClosesTheBreaker) {
  fail(Breaker::kFailures);
  EXPECT_EQ(BreakerState::kOpen, breaker.state(now));
  now += Breaker::kOpenTime;
  EXPECT_EQ(BreakerState::kHalfOpen, breaker.state(now)) << "the state changes with time, without a request";
  const auto probe = breaker.admit(now);
  ASSERT_TRUE(probe);
  EXPECT_FALSE(breaker.admit(now));
  EXPECT_EQ(BreakerState::kHalfOpen, breaker.state());
  breaker.report(*probe, true, now);
  EXPECT_EQ(BreakerState::kClosed, breaker.state());
  EXPECT_TRUE(breaker.admit(now));
  EXPECT_TRUE(breaker.admit(now));
}

TEST_F(Opened, AFailedProbeDoublesTheOpenTimeUpToItsBound) {
  fail(Breaker::kFailures);
  milliseconds rest = Breaker::kOpenTime;
  for (int i = 0; i < 10; ++i) {
    now += rest;
    fail(1);
    rest = std::min(rest * 2, Breaker::kOpenTimeMax);
    EXPECT_EQ(rest, breaker.time_to_probe(now));
  }
}

TEST_F(Opened, AProbeWithoutAResultLetsTheNextOneThrough) {
  fail(Breaker::kFailures);
  now += Breaker::kOpenTime;
  const auto probe = breaker.admit(now);
  ASSERT_TRUE(probe);
  breaker.withdraw(*probe);
  EXPECT_TRUE(breaker.admit(now));
}

TEST_F(Opened, CallsInFlightWhenItOpenedDoNotExtendTheOpenTime) {
  std::vector<Breaker::Pass> out;
  for (int i = 0; i < Breaker::kFailures + 3; ++i) out.push_back(breaker.admit(now).value());
  for (const Breaker::Pass& pass : out) breaker.report(pass, false, now);
  EXPECT_EQ(Breaker::kOpenTime, breaker.time_to_probe(now));
}

TEST_F(Opened, OnlyTheProbeEndsTheProbe) {
  const auto healthy = breaker.admit(now), failing = breaker.admit(now), silent = breaker.admit(now);
  fail(Breaker::kFailures);
  now += Breaker::kOpenTime;
  const auto probe = breaker.admit(now);
  ASSERT_TRUE(healthy && failing && silent && probe);
  breaker.withdraw(*silent);
  EXPECT_FALSE(breaker.admit(now));
  breaker.report(*failing, false, now);
  EXPECT_EQ(BreakerState::kHalfOpen, breaker.state());
  breaker.report(*healthy, true, now);
  EXPECT_EQ(BreakerState::kHalfOpen, breaker.state());
  EXPECT_FALSE(breaker.admit(now));
  breaker.report(*probe, true, now);
  EXPECT_EQ(BreakerState::kClosed, breaker.state());
}

}  // namespace
}  // namespace millrace::inference
