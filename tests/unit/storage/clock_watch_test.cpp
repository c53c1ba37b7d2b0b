#include "storage/clock_watch.h"

#include <gtest/gtest.h>

namespace millrace::storage {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ClockWatchTest : public ::testing::Test {
 protected:
  void commit() {
    watch_.group_begins(clock_.wall(), clock_.boot());
    watch_.group_committed(clock_.boot());
  }

  base::ManualClock clock_;
  ClockWatch watch_{clock_.wall(), clock_.boot()};
};

TEST_F(ClockWatchTest, ClocksThatMoveTogetherAreTrustedSinceTheOpening) {
  const auto opened = clock_.boot();
  for (int i = 0; i < 100; ++i) {
    clock_.advance(seconds(9));
    commit();
  }
  EXPECT_EQ(watch_.trust().regular_since, opened);
  EXPECT_EQ(watch_.trust().agreed_since, opened);
}

TEST_F(ClockWatchTest, ACommitMoreThanTenSecondsBackStartsTrustAnew) {
  commit();
  clock_.advance(milliseconds(10'001));
  commit();
  EXPECT_EQ(watch_.trust().regular_since, clock_.boot());
  EXPECT_NE(watch_.trust().agreed_since, clock_.boot());
}

TEST_F(ClockWatchTest, AFirstCommitLongAfterTheOpeningStartsTrustAnew) {
  clock_.advance(seconds(11));
  commit();
  EXPECT_EQ(watch_.trust().regular_since, clock_.boot());
}

TEST_F(ClockWatchTest, WallAndBootClockApartByMoreThanFiveSecondsStartTrustAnew) {
  commit();
  clock_.advance(seconds(1));
  clock_.jump_wall(seconds(-6));
  commit();
  EXPECT_EQ(watch_.trust().agreed_since, clock_.boot());
  const auto jumped = clock_.boot();
  clock_.advance(seconds(8));
  commit();
  EXPECT_EQ(watch_.trust().agreed_since, jumped);
}

TEST_F(ClockWatchTest, ASmallCorrectionOfTheWallClockIsNoJump) {
  commit();
  clock_.jump_wall(seconds(5));
  commit();
  EXPECT_EQ(watch_.trust().agreed_since, base::BootTime{});
}

}  // namespace
}  // namespace millrace::storage
