#include <array>
#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/front/server_state.h"
#include "tests/unit/front/served.h"

namespace millrace::front::test {
namespace {

class AuxThreadRuns : public ::testing::Test {
 protected:
  void start(std::chrono::milliseconds tick_period = std::chrono::hours(1)) {
    AuxThread::Callbacks callbacks;
    callbacks.writable = [this](std::uint64_t id) {
      writable_id = id;
      writable.set();
    };
    callbacks.tick = [this] {
      if (++ticks == 3) ticked.set();
    };
    ASSERT_TRUE(loop.start(std::move(callbacks), tick_period).has_value());
  }

  Signal writable;
  Signal ticked;  // set at the third tick
  std::atomic<int> ticks{0};
  std::atomic<std::uint64_t> writable_id{0};
  AuxThread loop;
};

TEST_F(AuxThreadRuns, TasksInTheOrderOfTheirPost) {
  start();
  std::vector<int> order;
  Signal done;
  for (int i = 0; i < 100; ++i) loop.post([&order, i] { order.push_back(i); });
  loop.post([&] { done.set(); });
  ASSERT_TRUE(done.wait());
  ASSERT_EQ(order.size(), 100u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_F(AuxThreadRuns, TheNextTaskAfterOneThatThrows) {
  start();
  Signal done;
  loop.post([] { throw std::runtime_error("expected by this test"); });
  loop.post([&] { done.set(); });
  EXPECT_TRUE(done.wait());
}

TEST_F(AuxThreadRuns, WhatWasPostedBeforeItsEndAndDropsTheRest) {
  start();
  std::atomic<int> ran{0};
  loop.post([&] {
    ++ran;
    loop.post([&] { ++ran; });
  });
  loop.stop();
  EXPECT_GE(ran, 1);
  const int before = ran;
  loop.post([&] { ++ran; });
  EXPECT_EQ(ran, before);
}

TEST_F(AuxThreadRuns, ATickOncePerPeriod) {
  const auto begun = std::chrono::steady_clock::now();
  start(std::chrono::milliseconds(10));
  EXPECT_TRUE(ticked.wait());
  EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(20));
}

TEST_F(AuxThreadRuns, AReportByIdWhenASocketIsWritableAgain) {
  start();
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
  const std::string block(64 * 1024, 'x');
  while (::send(ends[0], block.data(), block.size(), MSG_NOSIGNAL) > 0) {
  }
  bool known = false;
  loop.arm(ends[0], 77, known);
  EXPECT_TRUE(known);
  EXPECT_FALSE(writable.is_set());
  std::string sink(block);
  while (::recv(ends[1], sink.data(), sink.size(), 0) > 0) {
  }
  EXPECT_TRUE(writable.wait());
  EXPECT_EQ(writable_id, 77u);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace millrace::front::test
