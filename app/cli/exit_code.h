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
  kNotYet = 16,  // the requested result is not ready
  kInterrupted = 130,
};

}  // namespace millrace::cli
