#include "platform/base/clock.h"

#include <gtest/gtest.h>

namespace millrace::base::clock_test {
namespace {

using std::chrono::milliseconds;

TEST(Clock, RealTimeMovesForwardAndNamesItsBoot) {
  const SystemClock clock;
  const BootTime before = clock.boot();
  EXPECT_GE(clock.boot(), before);
  EXPECT_GT(millis(clock.wall()), 1'700'000'000'000);
  EXPECT_EQ(clock.boot_id().size(), 36U);
}

TEST(Clock, AManualClockMovesOnlyOnRequest) {
  ManualClock clock;
  const WallTime start = clock.wall();
  clock.advance(milliseconds(5));
  EXPECT_EQ(clock.wall() - start, milliseconds(5));
  EXPECT_EQ(millis(clock.boot()), 5);
}

TEST(Clock, AWallJumpLeavesBootTimeAlone) {
  ManualClock clock;
  clock.jump_wall(milliseconds(-10'000));
  EXPECT_EQ(millis(clock.boot()), 0);
  EXPECT_EQ(millis(clock.wall()), 1'699'999'990'000);
}

TEST(Clock, ARebootStartsBootTimeAgainUnderAnotherId) {
  ManualClock clock;
  clock.advance(milliseconds(7));
  const std::string before = clock.boot_id();
  clock.reboot("boot-2");
  EXPECT_EQ(millis(clock.boot()), 0);
  EXPECT_NE(clock.boot_id(), before);
}

struct Row {
  std::string_view text;
  std::int64_t ms;
};

TEST(Clock, DateTimesAreReadWithAnyOffsetAndFraction) {
  const Row rows[] = {
      {"1970-01-01T00:00:00Z", 0},
      {"2023-11-14T22:13:20.000Z", 1'700'000'000'000},
      {"2023-11-14T22:13:20.123456789Z", 1'700'000'000'123},
      {"2023-11-14T23:13:20.1+01:00", 1'700'000'000'100},
      {"2023-11-14t16:43:20-05:30", 1'700'000'000'000},
      {"2024-02-29T00:00:00Z", 1'709'164'800'000},
  };
  for (const Row& row : rows) {
    WallTime got;
    ASSERT_TRUE(parse_rfc3339(row.text, got)) << row.text;
    EXPECT_EQ(millis(got), row.ms) << row.text;
  }
}

TEST(Clock, WhatIsNoDateTimeIsRefused) {
  for (std::string_view text : {"", "2023-11-14", "2023-11-14T22:13:20", "2023-02-29T00:00:00Z",
                                "2023-13-01T00:00:00Z", "2023-11-14T24:00:00Z", "2023-11-14T22:60:00Z",
                                "2023-11-14T22:13:20.Z", "2023-11-14T22:13:20Zx", "2023-11-14T22:13:20+24:00",
                                "20231114T221320Z", "2023-11-14T22:13:20+0100", "-023-11-14T22:13:20Z"}) {
    WallTime got;
    EXPECT_FALSE(parse_rfc3339(text, got)) << text;
  }
}

TEST(Clock, DateTimesAreWrittenInUtcWithMilliseconds) {
  EXPECT_EQ(rfc3339(wall_from(1'700'000'000'007)), "2023-11-14T22:13:20.007Z");
  EXPECT_EQ(rfc3339(wall_from(0)), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(rfc3339(wall_from(-1)), "1969-12-31T23:59:59.999Z");
  for (std::int64_t ms = -1'000'000'000'000; ms < 4'000'000'000'000; ms += 98'765'432'123) {
    WallTime back{};
    ASSERT_TRUE(parse_rfc3339(rfc3339(wall_from(ms)), back)) << ms;
    EXPECT_EQ(millis(back), ms);
  }
}

}  // namespace
}  // namespace millrace::base::clock_test
