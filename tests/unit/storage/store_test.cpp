#include "storage/store.h"

#include <condition_variable>
#include <csignal>
#include <mutex>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "tests/support/temp_dir.h"
#include "tests/support/wait_until.h"
#include "tests/unit/storage/opened_store.h"
#include "tests/unit/storage/other_process.h"

namespace millrace::storage {
namespace {

TEST(StoreTest, WhatWasAnsweredIsReadAfterReopening) {
  support::TempDir dir;
  base::SystemClock clock;
  for (int round = 1; round <= 2; ++round) {
    auto store = opened(test_options(dir.str() + "/data"), clock);
    ASSERT_TRUE(write(*store, bump));
    EXPECT_EQ(bumps(*store), round);
  }
}

TEST(StoreTest, WhatWasAnsweredSurvivesKill9) {
  support::TempDir dir;
  const auto submit = [&](OtherProcess::Line& line) {
    base::SystemClock clock;
    auto store = opened(test_options(dir.str()), clock);
    while (write(*store, bump)) line.send('c');
    return 2;
  };
  OtherProcess other(submit);
  std::int64_t answered = 0;
  while (answered < 50 && other.line().receive() == 'c') ++answered;
  other.signal(SIGKILL);
  other.wait();
  while (other.line().receive() == 'c') ++answered;
  base::SystemClock clock;
  auto store = opened(test_options(dir.str()), clock);
  EXPECT_GE(bumps(*store), answered);
  EXPECT_LE(bumps(*store), answered + 1) << "at most one write that was not yet acknowledged";
}

std::chrono::microseconds cpu_used() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return std::chrono::seconds(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         std::chrono::microseconds(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

TEST(StoreTest, AnIdleStoreUsesNoMeasurableCpu) {
  support::TempDir dir;
  base::SystemClock clock;
  auto store = opened(test_options(dir.str()), clock);
  ASSERT_TRUE(write(*store, bump));
  ASSERT_TRUE(support::wait_until([&] { return store->stats().checkpoints_total > 0; }));
  const auto before = cpu_used();
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock lock(mutex);
  support::wait_until(
      never, lock, [] { return false; }, std::chrono::milliseconds(500));
  EXPECT_LT(cpu_used() - before, std::chrono::milliseconds(10));
}

}  // namespace
}  // namespace millrace::storage
