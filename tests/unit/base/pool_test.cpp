#include "platform/base/pool.h"

#include <atomic>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/wait_until.h"

namespace millrace::base::pool_test {
namespace {

using Queue = Pool::Queue;
using support::wait_until;

// Blocks a task until `open` is called.
class Gate {
 public:
  void wait() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    --waiting_;
  }
  void open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  bool reaches(int waiting) {
    std::unique_lock lock(mutex_);
    return wait_until(changed_, lock, [&] { return waiting_ == waiting; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;
  bool open_ = false;
};

TEST(Pool, RunsWhatIsQueuedBeforeItCloses) {
  std::atomic<int> done = 0;
  Pool pool({});
  for (int i = 0; i < 500; ++i)
    EXPECT_TRUE(pool.post(i % 2 == 0 ? Queue::kQuick : Queue::kLarge, [&] { ++done; }));
  pool.close();
  EXPECT_EQ(done, 500);
}

TEST(Pool, AFullLaneRefusesAndTheOtherStillTakes) {
  Gate gate;
  Pool pool({.threads = 1, .queue_max = 1});
  ASSERT_TRUE(pool.post(Queue::kQuick, [&] { gate.wait(); }));
  ASSERT_TRUE(gate.reaches(1));
  EXPECT_TRUE(pool.post(Queue::kQuick, [] {}));
  EXPECT_FALSE(pool.post(Queue::kQuick, [] {}));
  EXPECT_TRUE(pool.post(Queue::kLarge, [] {}));
  gate.open();
}

TEST(Pool, AReplyTaskIsAcceptedByAFullLane) {
  Gate gate;
  std::atomic<int> done = 0;
  Pool pool({.threads = 1, .queue_max = 1});
  ASSERT_TRUE(pool.post(Queue::kQuick, [&] { gate.wait(); }));
  ASSERT_TRUE(gate.reaches(1));
  EXPECT_TRUE(pool.post(Queue::kQuick, [] {}));
  EXPECT_TRUE(pool.post_reply(Queue::kQuick, [&] { ++done; }));
  gate.open();
  EXPECT_TRUE(wait_until([&] { return done == 1; }));
  pool.close();
  EXPECT_FALSE(pool.post_reply(Queue::kQuick, [] {}));
}

TEST(Pool, AtMostOneThreadIsOnALargeTask) {
  Gate gate;
  std::atomic<int> second_large = 0;
  std::atomic<int> quick = 0;
  Pool pool({.threads = 2});
  ASSERT_TRUE(pool.post(Queue::kLarge, [&] { gate.wait(); }));
  ASSERT_TRUE(gate.reaches(1));
  ASSERT_TRUE(pool.post(Queue::kLarge, [&] { ++second_large; }));
  ASSERT_TRUE(pool.post(Queue::kQuick, [&] { ++quick; }));
  EXPECT_TRUE(wait_until([&] { return quick == 1; }));
  EXPECT_EQ(second_large, 0);
  gate.open();
  EXPECT_TRUE(wait_until([&] { return second_large == 1; }));
}

TEST(Pool, AsManyThreadsAreOnLargeTasksAsItsOptionSays) {
  Gate gate;
  std::atomic<int> third_large = 0;
  Pool pool({.threads = 4, .large_max = 2});
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(pool.post(Queue::kLarge, [&] { gate.wait(); }));
  ASSERT_TRUE(gate.reaches(2));
  ASSERT_TRUE(pool.post(Queue::kLarge, [&] { ++third_large; }));
  std::atomic<int> quick = 0;
  ASSERT_TRUE(pool.post(Queue::kQuick, [&] { ++quick; }));
  EXPECT_TRUE(wait_until([&] { return quick == 1; }));
  EXPECT_EQ(third_large, 0);
  gate.open();
  EXPECT_TRUE(wait_until([&] { return third_large == 1; }));
}

TEST(Pool, QuickTasksGoBeforeLargeOnes) {
  Gate gate;
  std::string order;
  Pool pool({.threads = 1});
  ASSERT_TRUE(pool.post(Queue::kQuick, [&] { gate.wait(); }));
  ASSERT_TRUE(gate.reaches(1));
  ASSERT_TRUE(pool.post(Queue::kLarge, [&] { order += 'L'; }));
  ASSERT_TRUE(pool.post(Queue::kQuick, [&] { order += 'q'; }));
  ASSERT_TRUE(pool.post(Queue::kQuick, [&] { order += 'q'; }));
  gate.open();
  pool.close();
  EXPECT_EQ(order, "qqL");
}

TEST(Pool, AClosedPoolRefuses) {
  Pool pool({});
  pool.close();
  EXPECT_FALSE(pool.post(Queue::kQuick, [] {}));
}

}  // namespace
}  // namespace millrace::base::pool_test
