#include "app/cli/exec_exit.h"

namespace millrace::cli {

bool ended_by_itself(const ExecEnd& end) {
  return end.status == "succeeded" || (end.status == "failed" && end.error_code.empty());
}

int exit_code_of(const ExecEnd& end, bool exit_status) {
  if (end.status.empty()) return end.failure;
  if (end.status == "succeeded") return kOk;
  if (end.status == "cancelled" && end.interrupted) return kInterrupted;
  if (!exit_status) return kFailed;
  if (ended_by_itself(end)) return end.signal != 0 ? kSignalBase + end.signal : end.exit_code;
  return end.error_code == "execution_timed_out" ? kTimedOut : kNoEndOfItsOwn;
}

}  // namespace millrace::cli
