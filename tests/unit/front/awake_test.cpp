#include "api/front/awake.h"

#include <array>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace millrace::front {
namespace {

using namespace std::chrono_literals;
using Clock = RestJudge::Clock;

// Long enough for a loaded machine; a wait that is not ended takes as long as this.
constexpr std::chrono::microseconds kMost = 2s;

class AwakeTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_.data()), 0); }
  void TearDown() override {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  void send_byte() { ASSERT_EQ(::send(ends_[1], "x", 1, 0), 1); }
  // Turns that were told of one thing each, with next to no rest.
  void turns(Awake& awake, std::size_t under_way) {
    for (int i = 0; i < RestJudge::kShortRests; ++i) {
      awake.turn_begins(1);
      awake.heard(ends_[0], 7);
      if (i + 1 < RestJudge::kShortRests) awake.turn_ends(RestJudge::kFew + 1);
    }
    began_ = Clock::now();
    awake.turn_ends(under_way);
  }
  Clock::duration took() const { return Clock::now() - began_; }

  std::array<int, 2> ends_{};
  Clock::time_point began_{};
};

TEST_F(AwakeTest, WhatCanBeReadEndsTheWait) {
  Awake awake(kMost);
  send_byte();
  turns(awake, 1);
  EXPECT_LT(took(), kMost);
}

TEST_F(AwakeTest, WhatIsWatchedForGoodEndsItToo) {
  std::array<int, 2> beside{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, beside.data()), 0);
  Awake awake(kMost);
  awake.watch(beside[0]);
  ASSERT_EQ(::send(beside[1], "x", 1, 0), 1);
  turns(awake, 1);
  EXPECT_LT(took(), kMost);
  ::close(beside[0]);
  ::close(beside[1]);
}

TEST_F(AwakeTest, ItIsNoLongerThanItMayBe) {
  Awake awake(1ms);
  for (int i = 0; i < 100; ++i) turns(awake, 1);
  EXPECT_LT(took(), kMost);
}

TEST_F(AwakeTest, WithMuchUnderWayThereIsNone) {
  Awake awake(kMost);
  turns(awake, RestJudge::kFew + 1);
  EXPECT_LT(took(), kMost);
}

TEST_F(AwakeTest, ASocketThatHasTakenTheNumberOfAnotherIsHeard) {
  Awake awake(kMost);
  turns(awake, RestJudge::kFew + 1);
  ASSERT_EQ(::close(ends_[0]), 0);
  ASSERT_EQ(::close(ends_[1]), 0);
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_.data()), 0);
  awake.turn_begins(1);
  awake.heard(ends_[0], 8);
  send_byte();
  began_ = Clock::now();
  awake.turn_ends(1);
  EXPECT_LT(took(), kMost);
}

}  // namespace
}  // namespace millrace::front
