#pragma once

namespace millrace::cli {

// Stable exit codes of the commands (docs/jobs.md, Exit codes; 16: ADR 38).
enum ExitCode : int {
  kOk = 0,
  kFailed = 1,
  kUsage = 2,
  kCredentials = 10,
  kNotFound = 11,
  kRateLimited = 12,
  kRefused = 13,
  kServerError = 14,
  kNoConnection = 15,
  kNotYet = 16,   // the requested result is not ready
  kHungUp = 129,  // SIGHUP: the terminal was closed
  kInterrupted = 130,
  kPipeClosed = 141,  // SIGPIPE: standard output was closed
};

}  // namespace millrace::cli
