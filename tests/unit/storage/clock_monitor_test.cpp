#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "storage/writer/group_writer.h"

namespace millrace::storage {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ClockMonitorTest : public ::testing::Test {
 protected:
  void commit() {
    watch_.on_group_begin(clock_.wall(), clock_.boot());
    watch_.on_group_committed(clock_.boot());
  }

  base::ManualClock clock_;
  ClockMonitor watch_{clock_.wall(), clock_.boot()};
};

TEST_F(ClockMonitorTest, ClocksThatMoveTogetherAreTrustedSinceTheOpening) {
  const auto opened = clock_.boot();
  for (int i = 0; i < 100; ++i) {
    clock_.advance(seconds(9));
    commit();
  }
  EXPECT_EQ(watch_.trust().regular_since, opened);
  EXPECT_EQ(watch_.trust().agreed_since, opened);
}

TEST_F(ClockMonitorTest, ACommitMoreThanTenSecondsAgoResetsTrust) {
  commit();
  clock_.advance(milliseconds(10'001));
  commit();
  EXPECT_EQ(watch_.trust().regular_since, clock_.boot());
  EXPECT_NE(watch_.trust().agreed_since, clock_.boot());
}

TEST_F(ClockMonitorTest, AFirstCommitLongAfterTheOpeningResetsTrust) {
  clock_.advance(seconds(11));
  commit();
  EXPECT_EQ(watch_.trust().regular_since, clock_.boot());
}

TEST_F(ClockMonitorTest, WallAndBootClockApartByMoreThanFiveSecondsResetTrust) {
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

TEST_F(ClockMonitorTest, ASmallCorrectionOfTheWallClockIsNoJump) {
  commit();
  clock_.jump_wall(seconds(5));
  ::testing::internal::CaptureStderr();
  commit();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(watch_.trust().agreed_since, base::BootTime{});
}

TEST_F(ClockMonitorTest, AJumpIsLoggedOnceWithHowFarTheWallClockWent) {
  clock_.jump_wall(std::chrono::hours(-48));
  ::testing::internal::CaptureStderr();
  commit();
  clock_.advance(seconds(1));
  commit();
  const std::string lines = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(lines.find("clock_jumped by_ms=-172800000"), std::string::npos) << lines;
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 1) << lines;
}

}  // namespace
}  // namespace millrace::storage
