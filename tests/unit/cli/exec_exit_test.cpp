#include <gtest/gtest.h>

#include "app/cli/machines/exec_command.h"

namespace millrace::cli {
namespace {

struct Row {
  ExecutionOutcome end;
  int plain, status;  // without and with --exit-status
};

TEST(ExecWait, AScheduledExecutionWaitsForAWorkerOnlyFromItsTimeOn) {
  using enum ExecutionWait;
  EXPECT_EQ(wait_after("queued", 0, true), kItsTime) << "the reply to its submission";
  EXPECT_EQ(wait_after("queued", 1, true), kItsTime);
  EXPECT_EQ(wait_after("queued", 2, true), kWorker);
  EXPECT_EQ(wait_after("wake_in_progress", 2, true), kMachine);
  EXPECT_EQ(wait_after("queued", 3, true), kWorker);
  EXPECT_EQ(wait_after("running", 4, true), kNothing);
  EXPECT_EQ(wait_after("", 1, true), kNothing) << "it is being cancelled";
}

TEST(ExecWait, AnotherExecutionWaitsAtOnce) {
  using enum ExecutionWait;
  for (const int number : {0, 1}) {
    EXPECT_EQ(wait_after("queued", number, false), kWorker);
    EXPECT_EQ(wait_after("wake_in_progress", number, false), kMachine);
  }
  EXPECT_EQ(wait_after("running", 2, false), kNothing);
}

TEST(ExecExit, ItsCodeSaysHowTheCommandEnded) {
  const Row table[] = {
      {{.status = "succeeded"}, 0, 0},
      {{.status = "failed", .exit_code = 3}, 1, 3},
      {{.status = "failed", .exit_code = 124}, 1, 124},
      {{.status = "failed", .signal = 9}, 1, 137},
      {{.status = "failed", .signal = 15}, 1, 143},
      {{.status = "failed", .signal = 9, .error_code = "out_of_memory"}, 1, 137},
      {{.status = "failed", .exit_code = 2, .error_code = "process_limit"}, 1, 2},
      {{.status = "expired", .signal = 15, .error_code = "execution_timed_out"}, 1, 124},
      {{.status = "expired", .error_code = "execution_not_started"}, 1, 125},
      {{.status = "failed", .error_code = "execution_runner_prepare_failed"}, 1, 125},
      {{.status = "failed", .error_code = "worker_lost"}, 1, 125},
      {{.status = "cancelled", .signal = 15}, 1, 125},
      {{.status = "cancelled", .signal = 15, .interrupted = true}, 130, 130},
      {{.status = "failed", .exit_code = 3, .interrupted = true}, 1, 3},
      {{.failure = kNoConnection}, 15, 15},
      {{.failure = kInterrupted, .interrupted = true}, 130, 130},
  };
  for (const Row& row : table) {
    EXPECT_EQ(exit_code_of(row.end, false), row.plain) << row.end.status << row.end.error_code;
    EXPECT_EQ(exit_code_of(row.end, true), row.status) << row.end.status << row.end.error_code;
  }
}

}  // namespace
}  // namespace millrace::cli
