#include <array>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/front/spin_policy.h"

namespace millrace::front {
namespace {

using namespace std::chrono_literals;
constexpr std::chrono::microseconds kMost = 2s;

class SpinWaitTest : public testing::Test {
 protected:
  using Rest = SpinWait::Rest;

  void SetUp() override { open(); }
  void TearDown() override { close(); }
  void open() { ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_.data()), 0); }
  void close() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  void send_byte() { ASSERT_EQ(::send(ends_[1], "x", 1, 0), 1); }

  // So many turns that were told of one thing each, with next to no rest, that the next may be awake.
  void short_turns(SpinWait& awake) {
    for (int i = 0; i <= SpinPolicy::kShortRests; ++i) {
      awake.turn_ends(SpinPolicy::kFewEvents + 1);
      awake.turn_begins(1);
    }
  }

  std::array<int, 2> ends_{};
};

TEST_F(SpinWaitTest, WhatCanBeReadEndsTheWait) {
  SpinWait awake(kMost);
  short_turns(awake);
  awake.received(ends_[0], 7);
  send_byte();
  EXPECT_EQ(awake.turn_ends(1), Rest::kReadable);
}

TEST_F(SpinWaitTest, WhatIsWatchedForGoodEndsItToo) {
  SpinWait awake(kMost);
  awake.watch(ends_[0]);
  short_turns(awake);
  send_byte();
  EXPECT_EQ(awake.turn_ends(1), Rest::kReadable);
}

TEST_F(SpinWaitTest, WithNothingToReadItEndsByTimeOrForOthers) {
  SpinWait awake(1ms);
  short_turns(awake);
  awake.received(ends_[0], 7);
  const Rest rest = awake.turn_ends(1);
  EXPECT_TRUE(rest == Rest::kLongEnough || rest == Rest::kLeftToOthers);
}

TEST_F(SpinWaitTest, WithMuchUnderWayThereIsNone) {
  SpinWait awake(kMost);
  short_turns(awake);
  awake.received(ends_[0], 7);
  send_byte();
  EXPECT_EQ(awake.turn_ends(SpinPolicy::kFewEvents + 1), Rest::kNone);
}

TEST_F(SpinWaitTest, ASocketThatReusesADescriptorNumberIsSeen) {
  SpinWait awake(kMost);
  short_turns(awake);
  awake.received(ends_[0], 7);
  const int number = ends_[0];
  close();
  open();
  ASSERT_EQ(ends_[0], number);
  awake.received(ends_[0], 8);
  send_byte();
  EXPECT_EQ(awake.turn_ends(1), Rest::kReadable);
}

TEST_F(SpinWaitTest, WithoutATimeItNeverWaits) {
  SpinWait awake(0us);
  short_turns(awake);
  EXPECT_EQ(awake.turn_ends(0), Rest::kNone);
}

}  // namespace
}  // namespace millrace::front
