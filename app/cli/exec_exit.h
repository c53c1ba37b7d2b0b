#pragma once
#include "app/cli/exec_stream.h"

namespace millrace::cli {

// What `exec run --exit-status` ends with where the command has no code of its own, as timeout(1) and docker
// have it. Codes of an ExitCode stay what they are.
inline constexpr int kTimedOut = 124;
inline constexpr int kNoEndOfItsOwn = 125;  // never started, lost, or cancelled by somebody else
inline constexpr int kSignalBase = 128;     // and the signal's number, as shells say it

// The exit code of an execution that was followed. Without `exit_status` one that did not succeed is kFailed;
// one that Ctrl-C has cancelled is kInterrupted either way. One whose end is not known is its `failure`.
int exit_code_of(const ExecEnd& end, bool exit_status);

// Whether the command ended by itself: its exit code or signal is all there is to say.
bool ended_by_itself(const ExecEnd& end);

}  // namespace millrace::cli
