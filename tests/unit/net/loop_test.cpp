#include "platform/net/loop.h"

#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/wait_until.h"

namespace millrace::net {
namespace {

using std::chrono::milliseconds;

// Blocks a loop's thread until `let_go`.
class Occupied {
 public:
  explicit Occupied(Loop& loop) {
    std::promise<void> begun;
    loop.post([this, &begun] {
      begun.set_value();
      let_go_.get_future().wait();
    });
    begun.get_future().wait();
  }
  void let_go() { let_go_.set_value(); }

 private:
  std::promise<void> let_go_;
};

// The thread on which `run_inline_if_idle` ran the task.
std::thread::id visited_on(Loop& loop) {
  std::promise<std::thread::id> ran;
  loop.run_inline_if_idle([&] { ran.set_value(std::this_thread::get_id()); });
  return ran.get_future().get();
}

void wait_idle(Loop& loop) {
  ASSERT_TRUE(support::wait_until([&] { return visited_on(loop) == std::this_thread::get_id(); }));
}

TEST(Loop, AnIdleLoopRunsTheTaskInlineWithAllThatItPosts) {
  Loop loop("test");
  wait_idle(loop);
  std::vector<int> ran;
  std::promise<bool> done;
  loop.run_inline_if_idle([&] {
    EXPECT_TRUE(loop.on_this_thread());
    loop.post([&] {
      ran.push_back(2);
      loop.run_inline_if_idle([&] { ran.push_back(4); });
    });
    loop.post([&] { ran.push_back(3); });
    ran.push_back(1);
    done.set_value(true);
  });
  done.get_future().wait();
  loop.stop();
  EXPECT_EQ(ran, (std::vector{1, 2, 3, 4}));
  EXPECT_FALSE(loop.on_this_thread());
}

TEST(Loop, ABusyLoopRunsTheTaskOnItsThread) {
  Loop loop("test");
  Occupied occupied(loop);
  std::promise<std::thread::id> ran;
  loop.run_inline_if_idle([&] { ran.set_value(std::this_thread::get_id()); });
  occupied.let_go();
  EXPECT_NE(ran.get_future().get(), std::this_thread::get_id());
}

TEST(Loop, AnInlineRunThatPostsEndlesslyIsBounded) {
  Loop loop("test");
  wait_idle(loop);
  std::promise<std::thread::id> elsewhere;
  const auto here = std::this_thread::get_id();
  std::function<void()> again = [&] {
    if (std::this_thread::get_id() == here) return loop.post(again);
    elsewhere.set_value(std::this_thread::get_id());
  };
  loop.run_inline_if_idle(again);
  EXPECT_NE(elsewhere.get_future().get(), here);
}

TEST(Loop, ATimerSetInAnInlineRunFiresOnTheThread) {
  Loop loop("test");
  wait_idle(loop);
  std::promise<std::thread::id> came_up;
  Loop::Timer timer;
  loop.run_inline_if_idle(
      [&] { timer = loop.after(milliseconds(1), [&] { came_up.set_value(std::this_thread::get_id()); }); });
  EXPECT_NE(came_up.get_future().get(), std::this_thread::get_id());
}

TEST(Loop, NeverTwoThreadsRunTasksOfTheLoop) {
  Loop loop("test");
  int count = 0;  // used only by the loop's tasks; TSan detects a race
  std::vector<std::jthread> visitors;
  for (int i = 0; i < 4; ++i) {
    visitors.emplace_back([&] {
      for (int n = 0; n < 500; ++n) {
        loop.run_inline_if_idle([&] {
          ++count;
          loop.post([&] { ++count; });
        });
      }
    });
  }
  visitors.clear();
  std::promise<int> counted;
  loop.post([&] { loop.post([&] { counted.set_value(count); }); });
  EXPECT_EQ(counted.get_future().get(), 4'000);
}

TEST(Loop, AnInlineRunDoesNotOvertakeEarlierPostsOfItsThread) {
  Loop loop("test");
  for (int i = 0; i < 200; ++i) {
    wait_idle(loop);
    std::vector<int> ran;
    std::promise<void> both;
    loop.post([&] { ran.push_back(1); });
    loop.run_inline_if_idle([&] {
      ran.push_back(2);
      both.set_value();
    });
    both.get_future().wait();
    ASSERT_EQ(ran, (std::vector{1, 2}));
  }
}

TEST(Loop, WhatATaskHoldsIsDestroyedInTheLoop) {
  Loop loop("test");
  std::promise<bool> in_turn;
  struct Last {
    Loop& loop;
    std::promise<bool>& told;
    ~Last() { told.set_value(loop.on_this_thread()); }
  };
  loop.post([last = std::make_shared<Last>(loop, in_turn)] {});
  EXPECT_TRUE(in_turn.get_future().get());
}

TEST(Loop, AStoppedLoopRunsNothingInline) {
  Loop loop("test");
  wait_idle(loop);
  loop.stop();
  bool ran = false;
  loop.run_inline_if_idle([&] { ran = true; });
  EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace millrace::net
