#include <gtest/gtest.h>

#include "platform/base/clock.h"
#include "storage/postgres/clock.h"

namespace millrace::storage {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

// The clocks of a server and of two hosts.
class PostgresClockTest : public ::testing::Test {
 protected:
  void pass(milliseconds by) {
    for (base::ManualClock* clock : {&server_, &here_, &there_}) clock->advance(by);
  }
  void set(PostgresClock& clock, milliseconds took = milliseconds(0)) {
    clock.set({.time = server_.wall(), .recorded = recorded_, .took = took});
  }
  // What StoreClock records when it sees a jump.
  void record(const PostgresClock& clock) {
    recorded_ = clock.wall().time_since_epoch() - clock.boot().time_since_epoch();
  }

  base::ManualClock server_, here_, there_{base::WallTime(hours(1))};
  PostgresClock one_{here_}, two_{there_};
  milliseconds recorded_{0};
};

TEST_F(PostgresClockTest, HostsWithOtherClocksHaveTheServersTime) {
  there_.advance(hours(7));
  set(one_);
  set(two_);
  pass(seconds(3));
  EXPECT_EQ(one_.wall(), server_.wall());
  EXPECT_EQ(two_.wall(), server_.wall());
  EXPECT_EQ(one_.boot(), two_.boot());
  EXPECT_EQ(two_.host_boot(), there_.boot());
}

TEST_F(PostgresClockTest, AJumpOfTheServerMovesTheWallClockAlone) {
  set(one_);
  set(two_);
  const base::BootTime before = one_.boot();
  pass(seconds(1));
  server_.jump_wall(hours(26));
  set(one_);
  EXPECT_EQ(one_.wall(), server_.wall());
  EXPECT_EQ(one_.boot(), before + seconds(1));
  set(one_);
  EXPECT_EQ(one_.boot(), before + seconds(1)) << "a group that failed has recorded nothing";
  record(one_);
  set(two_);
  EXPECT_EQ(two_.wall(), server_.wall());
  EXPECT_EQ(two_.boot(), one_.boot()) << "another process has recorded it";
  pass(seconds(1));
  set(one_);
  EXPECT_EQ(one_.boot(), before + seconds(2));
}

TEST_F(PostgresClockTest, AProcessThatStartsAfterAJumpHasTheSameBootClock) {
  set(one_);
  server_.jump_wall(-hours(2));
  set(one_);
  record(one_);
  set(two_);
  set(one_);
  EXPECT_EQ(two_.boot(), one_.boot());
  EXPECT_EQ(two_.wall(), server_.wall());
}

TEST_F(PostgresClockTest, SmallStepsAreFollowed) {
  set(one_);
  for (int step = 0; step < 10; ++step) {
    server_.jump_wall(seconds(4));
    set(one_);
  }
  EXPECT_EQ(one_.wall(), server_.wall());
  EXPECT_EQ(base::millis(one_.boot()), base::millis(one_.wall()));
}

TEST_F(PostgresClockTest, ALateAnswerIsNoJump) {
  set(one_);
  const base::WallTime asked = server_.wall();
  pass(seconds(60));
  one_.set({.time = asked, .recorded = recorded_, .took = seconds(60)});
  EXPECT_EQ(one_.wall(), server_.wall());
  EXPECT_EQ(base::millis(one_.boot()), base::millis(one_.wall()));
}

}  // namespace
}  // namespace millrace::storage
