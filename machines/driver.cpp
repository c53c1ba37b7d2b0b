#include "machines/driver.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace millrace::machines {
namespace {

void signal_event(int event) {
  const std::uint64_t one = 1;
  // Fails only when the counter is at its maximum; the eventfd is then readable anyway.
  [[maybe_unused]] const ssize_t written = ::write(event, &one, sizeof one);
}

constexpr const char* kHostMessage = "the host could not run the command in the machine's sandbox";

}  // namespace

CancelToken::CancelToken()
    : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), killed_(std::make_shared<std::atomic<bool>>(false)) {}

void CancelToken::stop() { signal_event(event_.get()); }

void CancelToken::kill() {
  killed_->store(true);
  signal_event(event_.get());
}

bool CancelToken::is_requested() const {
  pollfd waited{event_.get(), POLLIN, 0};
  return ::poll(&waited, 1, 0) == 1;
}

bool CancelToken::killed() const { return killed_->load(); }

CommandResult make_result(CommandResult::How how, std::string message) {
  CommandResult end;
  end.how = how;
  end.message = std::move(message);
  return end;
}

CommandResult result_of_error(const base::Error& error) {
  const bool routable = error.code != base::Code::kMachineNotRoutable;
  return make_result(routable ? CommandResult::How::kHostFailed : CommandResult::How::kNotRoutable,
                     error.message);
}

CommandResult with_client_message(CommandResult end, const std::string& reason) {
  if (end.how != CommandResult::How::kHostFailed) return end;
  end.detail = std::exchange(end.message, reason.empty() ? kHostMessage : reason);
  return end;
}

CommandResult host_failure(const std::string& reason) {
  return result_of_error(base::error(base::Code::kHostAgentFailed, reason));
}

CommandResult cancelled_result() { return make_result(CommandResult::How::kStopped); }

bool has_run(const CommandResult& end) {
  using How = CommandResult::How;
  switch (end.how) {
    case How::kExited:
    case How::kSignalled:
    case How::kTimedOut:
    case How::kStopped:
    case How::kHostFailed:
      return true;
    case How::kNotStarted:
    case How::kPrepareFailed:
    case How::kNotRoutable:
      return false;
  }
  return false;
}

std::string execute_failure(int code) {
  switch (code) {
    case ENOENT:
      return "the command, or the interpreter that it names, does not exist";
    case ENOTDIR:
      return "the command does not exist";
    case EACCES:
    case EPERM:
      return "the command is not executable";
    case EISDIR:
      return "the command is a folder";
    case ENOEXEC:
      return "the command is not in an executable format (a script must begin with #!)";
    case E2BIG:
      return "the arguments and the environment together are too large";
    default:
      return std::string("the command cannot be executed: ") + std::strerror(code);
  }
}

std::string folder_failure(int code) {
  switch (code) {
    case ENOENT:
      return "cwd does not exist";
    case ENOTDIR:
      return "cwd is not a folder";
    case EACCES:
      return "cwd is not accessible: permission denied";
    default:
      return std::string("cwd cannot be entered: ") + std::strerror(code);
  }
}

}  // namespace millrace::machines
