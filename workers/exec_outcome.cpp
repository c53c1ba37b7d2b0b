#include "workers/exec_outcome.h"

#include <string>
#include <utility>

namespace millrace::workers {
namespace {

using base::Code;
using How = machines::CommandEnd::How;

storage::Payload payload(const schemas::ExecutionResult& result) {
  return {schemas::to_json(result), nullptr};
}

Fail failed(Code code, std::string message, const schemas::ExecutionResult& result) {
  return {base::error(code, std::move(message)), payload(result)};
}

Outcome exited(int code, schemas::ExecutionResult result) {
  result.exit_code = code;
  if (code == 0) return Done{payload(result)};
  return failed(Code::kCommandFailed, "the command ended with exit code " + std::to_string(code), result);
}

Outcome signalled(int signal, schemas::ExecutionResult result) {
  result.signal = signal;
  return failed(Code::kCommandFailed, "the command was ended by signal " + std::to_string(signal), result);
}

}  // namespace

Outcome exec_outcome(const machines::CommandEnd& end, schemas::ExecutionResult counts,
                     std::optional<Stop> stop, std::chrono::milliseconds timeout) {
  switch (end.how) {
    case How::kExited:
      return exited(end.exit_code, counts);
    case How::kSignalled:
      return signalled(end.signal, counts);
    case How::kTimedOut:
      return Expire{base::error(Code::kExecutionTimedOut, "the command ran for longer than its timeout_ms, " +
                                                              std::to_string(timeout.count())),
                    payload(counts)};
    case How::kStopped:
      if (stop == Stop::kCancel) return Cancelled{payload(counts)};
      return Lost{};
    case How::kNotBegun:
      return Lost{};
    case How::kPrepareFailed:
      return failed(Code::kExecutionPrepareFailed, end.message, counts);
    case How::kNotRoutable:
      return failed(Code::kMachineNotRoutable, end.message, counts);
    case How::kHostFailed:
      return failed(Code::kHostAgentFailed, end.message, counts);
  }
  return Lost{};
}

}  // namespace millrace::workers
