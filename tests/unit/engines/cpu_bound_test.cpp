#include <atomic>
#include <csignal>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "ai/engines/host/cpu_limit.h"

namespace millrace::engines::host {
namespace {

using std::chrono::milliseconds;

void loop_under_a_bound() {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  bound_cpu(milliseconds(0));
  const std::atomic<bool> never{false};
  while (!never) {
  }
}

int seconds_allowed_after_three_pages() {
  for (int page = 1; page <= 3; ++page) bound_cpu(milliseconds(500 * page));
  rlimit limit{};
  ::getrlimit(RLIMIT_CPU, &limit);
  return static_cast<int>(limit.rlim_cur);
}

TEST(CpuBoundDeathTest, CodeThatNeverAsksForTheTimeIsEndedByTheKernel) {
  EXPECT_EXIT(loop_under_a_bound(), testing::KilledBySignal(SIGXCPU), "");
}

TEST(CpuBoundDeathTest, ABoundIsMovedOnWithEachPage) {
  EXPECT_EXIT(::_exit(seconds_allowed_after_three_pages()), testing::ExitedWithCode(3), "");
}

int seconds_left_after_a_copy() {
  bound_cpu(milliseconds(20'000));
  spend_cpu(milliseconds(7'900));
  return static_cast<int>(std::chrono::ceil<std::chrono::seconds>(cpu_left()).count());
}

TEST(CpuBoundDeathTest, WhatACopyHasUsedIsTakenFromTheBound) {
  EXPECT_EXIT(::_exit(seconds_left_after_a_copy()), testing::ExitedWithCode(14), "");
}

}  // namespace
}  // namespace millrace::engines::host
