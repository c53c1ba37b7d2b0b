#include "machines/sandbox/reached_limits.h"

#include <csignal>

#include <gtest/gtest.h>

namespace millrace::machines {
namespace {

using How = CommandResult::How;

CommandResult lost_jail(bool started) {
  CommandResult end;
  end.how = How::kHostFailed;
  LimitStates states;
  states.after.counts = {.refused_processes = 1, .processes_max = 512};
  return with_reached_limit(std::move(end), {}, {}, started, states, {});
}

TEST(ReachedLimits, OnlyACommandThatHasNotStartedFailedForLackOfProcesses) {
  const CommandResult refused = lost_jail(false);
  EXPECT_EQ(refused.how, How::kPrepareFailed);
  EXPECT_EQ(refused.limit.value().code, base::Code::kProcessLimit);
  const CommandResult ran = lost_jail(true);
  EXPECT_EQ(ran.how, How::kHostFailed) << "another command of the machine was refused";
  EXPECT_FALSE(ran.limit);
}

std::optional<base::Code> limit_of_exit(int code, const ChildEvidence& children) {
  CommandResult end;
  end.how = How::kExited;
  end.exit_code = code;
  end = with_reached_limit(std::move(end), {}, {}, true, {}, children);
  return end.limit ? std::optional(end.limit->code) : std::nullopt;
}

TEST(ReachedLimits, AnExitCodeThatNamesASignalIsALimitOnlyWithEvidence) {
  EXPECT_EQ(limit_of_exit(128 + SIGXFSZ, {.has_full_file = true}), base::Code::kOutOfDisk);
  EXPECT_EQ(limit_of_exit(128 + SIGXFSZ, {}), std::nullopt);
  EXPECT_EQ(limit_of_exit(128 + SIGXFSZ, {.usage = {.cpu_ms = 5'000}}), std::nullopt);
  EXPECT_EQ(limit_of_exit(128 + SIGXCPU, {.usage = {.cpu_ms = 1'000}}), base::Code::kCpuTimeExceeded);
  EXPECT_EQ(limit_of_exit(128 + SIGXCPU, {.usage = {.cpu_ms = 10}}), std::nullopt);
  EXPECT_EQ(limit_of_exit(1, {.usage = {.cpu_ms = 5'000}, .has_full_file = true}), std::nullopt);
}

TEST(ReachedLimits, ASignalOfAProcessLeftBehindIsEvidenceForAnyFailure) {
  EXPECT_EQ(limit_of_exit(1, {.usage = {.orphan_xfsz = true}}), base::Code::kOutOfDisk);
  EXPECT_EQ(limit_of_exit(1, {.usage = {.orphan_xcpu = true}}), base::Code::kCpuTimeExceeded);
  EXPECT_EQ(limit_of_exit(0, {.usage = {.orphan_xfsz = true}}), std::nullopt) << "it is a warning";
}

}  // namespace
}  // namespace millrace::machines
