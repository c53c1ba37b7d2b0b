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
  using SpinEnd = SpinWait::SpinEnd;

  void SetUp() override { open(); }
  void TearDown() override { close(); }
  void open() { ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_.data()), 0); }
  void close() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  void send_byte() { ASSERT_EQ(::send(ends_[1], "x", 1, 0), 1); }

  // Enough turns with one event each and almost no wait, so the next turn may spin.
  void short_rounds(SpinWait& spin_wait) {
    for (int i = 0; i <= SpinPolicy::kShortWaits; ++i) {
      spin_wait.end_turn(SpinPolicy::kFewEvents + 1);
      spin_wait.begin_turn(1);
    }
  }

  std::array<int, 2> ends_{};
};

TEST_F(SpinWaitTest, AReadableClientEndsTheSpin) {
  SpinWait spin_wait(kMost);
  short_rounds(spin_wait);
  spin_wait.received(ends_[0], 7);
  send_byte();
  EXPECT_EQ(spin_wait.end_turn(1), SpinEnd::kReadable);
}

TEST_F(SpinWaitTest, AReadablePermanentDescriptorEndsTheSpin) {
  SpinWait spin_wait(kMost);
  spin_wait.watch(ends_[0]);
  short_rounds(spin_wait);
  send_byte();
  EXPECT_EQ(spin_wait.end_turn(1), SpinEnd::kReadable);
}

TEST_F(SpinWaitTest, WithoutInputTheSpinEndsByTimeoutOrYield) {
  SpinWait spin_wait(1ms);
  short_rounds(spin_wait);
  spin_wait.received(ends_[0], 7);
  const SpinEnd rest = spin_wait.end_turn(1);
  EXPECT_TRUE(rest == SpinEnd::kTimeout || rest == SpinEnd::kYielded);
}

TEST_F(SpinWaitTest, WithManyRequestsInProgressThereIsNoSpin) {
  SpinWait spin_wait(kMost);
  short_rounds(spin_wait);
  spin_wait.received(ends_[0], 7);
  send_byte();
  EXPECT_EQ(spin_wait.end_turn(SpinPolicy::kFewEvents + 1), SpinEnd::kNone);
}

TEST_F(SpinWaitTest, ASocketThatReusesADescriptorNumberIsSeen) {
  SpinWait spin_wait(kMost);
  short_rounds(spin_wait);
  spin_wait.received(ends_[0], 7);
  const int number = ends_[0];
  close();
  open();
  ASSERT_EQ(ends_[0], number);
  spin_wait.received(ends_[0], 8);
  send_byte();
  EXPECT_EQ(spin_wait.end_turn(1), SpinEnd::kReadable);
}

TEST_F(SpinWaitTest, WithAZeroLimitItNeverSpins) {
  SpinWait spin_wait(0us);
  short_rounds(spin_wait);
  EXPECT_EQ(spin_wait.end_turn(0), SpinEnd::kNone);
}

}  // namespace
}  // namespace millrace::front
