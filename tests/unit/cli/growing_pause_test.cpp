#include <gtest/gtest.h>

#include "app/cli/backoff.h"

namespace millrace::cli {
namespace {

using std::chrono::milliseconds;

TEST(Backoff, PausesDoubleUpToWhatIsAskedFor) {
  Backoff pause;
  for (const int expected : {50, 100, 200, 300, 300})
    EXPECT_EQ(pause.next(milliseconds(300)).count(), expected);
}

TEST(Backoff, AShorterRetryAfterHoldsFromTheFirstPauseOn) {
  Backoff pause;
  EXPECT_EQ(pause.next(milliseconds(10)).count(), 10);
}

TEST(Backoff, NoPauseIsLongerThanAMinute) {
  Backoff pause;
  for (int i = 0; i < 100; ++i) EXPECT_LE(pause.next(milliseconds(3'600'000)).count(), 60'000);
}

}  // namespace
}  // namespace millrace::cli
