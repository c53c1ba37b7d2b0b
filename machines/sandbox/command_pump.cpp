#include "machines/sandbox/command_pump.h"

#include <algorithm>
#include <cstring>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "machines/sandbox/command_end.h"
#include "platform/process/child.h"

namespace millrace::machines {
namespace {

using std::chrono::milliseconds;

// Time to start a jail. A start is allowed only if the lease has at least this much time left.
constexpr milliseconds kStartLimit{5'000};
constexpr milliseconds kKillLimit{30'000};  // time for the kernel to end a killed jail
constexpr std::size_t kSetupTextMax = 4096;

CommandResult end_of_status(int status) {
  CommandResult end;
  end.how = WIFSIGNALED(status) ? CommandResult::How::kSignalled : CommandResult::How::kExited;
  end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  end.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  return end;
}

CommandResult not_begun(JailStep step, int code) {
  using How = CommandResult::How;
  switch (step) {
    case JailStep::kExecute:
      return end_by(How::kPrepareFailed, execute_failure(code));
    case JailStep::kFolder:
      return end_by(How::kPrepareFailed, folder_failure(code));
    case JailStep::kGroups:
      return end_by(How::kHostFailed, std::string("control groups of the machine: ") + std::strerror(code));
    case JailStep::kLimits:
      return end_by(How::kHostFailed, std::string("limits of the command: ") + std::strerror(code));
    case JailStep::kNone:
      break;
  }
  return end_by(How::kHostFailed, std::string("first process: ") + std::strerror(code));
}

}  // namespace

CommandPump::CommandPump(JailHandles jail, const CancelToken& stop, int end_now, const CommandHooks& hooks)
    : jail_(std::move(jail)), stop_(stop), end_now_(end_now), hooks_(hooks), buffer_(kPumpBufferBytes) {}

CommandResult CommandPump::run(milliseconds timeout) {
  timeout_ = timeout;
  enter(Phase::kStarting, kStartLimit);
  while (!over()) step();
  return result();
}

bool CommandPump::over() const {
  if (gave_up_) return true;
  const bool setup_reported = jail_.link.process() >= 0 || !jail_.setup_errors;
  return phase_ == Phase::kGone && setup_reported && !jail_.output && !jail_.errors;
}

void CommandPump::enter(Phase phase, milliseconds limit) {
  phase_ = phase;
  deadline_ = Steady::now() + limit;
}

void CommandPump::step() {
  const int first = jail_.link.process();
  const int process = first >= 0 ? first : jail_.child.pidfd();
  std::array<pollfd, kSlots> fds{};
  fds[kLink] = {jail_.link.fd(), POLLIN, 0};
  fds[kProcess] = {phase_ == Phase::kGone ? -1 : process, POLLIN, 0};
  fds[kOutput] = {jail_.output.get(), POLLIN, 0};
  fds[kErrors] = {jail_.errors.get(), POLLIN, 0};
  fds[kSetupErrors] = {jail_.setup_errors.get(), POLLIN, 0};
  fds[kStop] = {phase_ == Phase::kGone ? -1 : stop_.fd(), POLLIN, 0};
  const bool going = phase_ == Phase::kKilled || phase_ == Phase::kGone;
  fds[kEndNow] = {going ? -1 : end_now_, POLLIN, 0};
  if (::poll(fds.data(), fds.size(), process::poll_limit(deadline_)) < 0) return;
  for (std::size_t slot = 0; slot < fds.size(); ++slot) {
    if (fds[slot].revents != 0) look_at(static_cast<Slot>(slot));
  }
  if (Steady::now() >= deadline_) on_deadline();
}

void CommandPump::look_at(Slot slot) {
  switch (slot) {
    case kLink:
      return on_link_readable();
    case kProcess:
      return gone();
    case kOutput:
      return pass_on(jail_.output, schemas::OutputStream::kStdout);
    case kErrors:
      return pass_on(jail_.errors, schemas::OutputStream::kStderr);
    case kSetupErrors:
      return read_setup_errors();
    case kStop:
      return on_stop();
    case kEndNow:
      return kill(CommandResult::How::kHostFailed);
    case kSlots:
      return;
  }
}

void CommandPump::on_link_readable() {
  if (const auto message = jail_.link.receive_message()) on_message(*message);
}

void CommandPump::on_message(const JailMessage& message) {
  switch (message.word) {
    case JailCommand::kReady:
      if (phase_ == Phase::kStarting) begin();
      return;
    case JailCommand::kNotStarted:
      end_ = not_begun(message.step, message.value);
      return;
    case JailCommand::kEnded:
      end_ = end_of_status(message.value);
      return;
    case JailCommand::kGo:
    case JailCommand::kTerminate:
      return;
  }
}

void CommandPump::begin() {
  if (jail_.link.process() < 0) return kill(CommandResult::How::kHostFailed);
  if (hooks_.start_allowed && !hooks_.start_allowed()) return kill(CommandResult::How::kNotStarted);
  enter(Phase::kRunning, timeout_);
  jail_.link.send_command(JailCommand::kGo);
}

void CommandPump::on_stop() {
  std::uint64_t count = 0;
  if (::read(stop_.fd(), &count, sizeof count) != sizeof count) return;
  if (stop_.killed()) {
    kill(CommandResult::How::kStopped);
  } else {
    terminate(CommandResult::How::kStopped);
  }
}

void CommandPump::on_deadline() {
  switch (phase_) {
    case Phase::kStarting:
      late_ = true;
      return kill(CommandResult::How::kHostFailed);
    case Phase::kRunning:
      return terminate(CommandResult::How::kTimedOut);
    case Phase::kTerminating:
      return kill(*stopped_for_);
    case Phase::kKilled:
    case Phase::kGone:
      gave_up_ = true;
      return;
  }
}

void CommandPump::terminate(CommandResult::How why) {
  if (phase_ == Phase::kStarting || end_) return kill(why);
  if (phase_ != Phase::kRunning) return;
  stopped_for_ = why;
  enter(Phase::kTerminating, kStopGrace);
  jail_.link.send_command(JailCommand::kTerminate);
}

void CommandPump::kill(CommandResult::How why) {
  if (phase_ == Phase::kKilled || phase_ == Phase::kGone) return;
  if (!stopped_for_ && !end_) stopped_for_ = why;
  if (jail_.link.process() < 0) jail_.child.kill_tree();
  jail_.link.kill();
  enter(Phase::kKilled, kKillLimit);
}

// The last message of the first process may still be in the socket.
void CommandPump::gone() {
  while (jail_.link.fd() >= 0 && !end_) {
    const auto message = jail_.link.receive_message();
    if (!message) break;
    on_message(*message);
  }
  enter(Phase::kGone, kDrainGrace);
}

void CommandPump::pass_on(base::Fd& from, schemas::OutputStream stream) {
  const ssize_t count = ::read(from.get(), buffer_.data(), buffer_.size());
  if (count <= 0) return from.reset();
  if (hooks_.output) hooks_.output(stream, {buffer_.data(), static_cast<std::size_t>(count)});
  if (phase_ == Phase::kGone) enter(Phase::kGone, kDrainGrace);  // the receiver of the output may be slow
}

void CommandPump::read_setup_errors() {
  const ssize_t count = ::read(jail_.setup_errors.get(), buffer_.data(), buffer_.size());
  if (count <= 0) return jail_.setup_errors.reset();
  const std::size_t bytes_left = kSetupTextMax - std::min(kSetupTextMax, setup_text_.size());
  setup_text_.append(buffer_.data(), std::min(bytes_left, static_cast<std::size_t>(count)));
}

CommandResult CommandPump::result() {
  if (stopped_for_) {
    return end_by(*stopped_for_, late_ ? "the jail did not start in time" : "");
  }
  if (end_) return std::move(*end_);
  const std::string reason = setup_text_.substr(0, setup_text_.find('\n'));
  return end_by(CommandResult::How::kHostFailed, reason.empty() ? "the jail was killed" : reason);
}

}  // namespace millrace::machines
