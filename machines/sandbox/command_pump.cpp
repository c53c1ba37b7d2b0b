#include "machines/sandbox/command_pump.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/process/child.h"

namespace millrace::machines {

namespace {

using std::chrono::milliseconds;

// Time to start a jail. A start is allowed only if the lease has at least this much time left.
constexpr milliseconds kStartLimit{5'000};
constexpr milliseconds kKillLimit{30'000};  // time for the kernel to end a killed jail
constexpr std::size_t kSetupTextMax = 4096;

CommandResult result_of_status(int status) {
  CommandResult end;
  end.how = WIFSIGNALED(status) ? CommandResult::How::kSignalled : CommandResult::How::kExited;
  end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  end.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  return end;
}

CommandResult not_started_result(JailStep step, int code) {
  using How = CommandResult::How;
  switch (step) {
    case JailStep::kExecute:
      return make_result(How::kPrepareFailed, execute_failure(code));
    case JailStep::kFolder:
      return make_result(How::kPrepareFailed, folder_failure(code));
    case JailStep::kGroups:
      return make_result(How::kHostFailed,
                         std::string("control groups of the machine: ") + std::strerror(code));
    case JailStep::kLimits:
      return make_result(How::kHostFailed, std::string("limits of the command: ") + std::strerror(code));
    case JailStep::kNone:
      break;
  }
  return make_result(How::kHostFailed, std::string("first process: ") + std::strerror(code));
}

}  // namespace

CommandPump::CommandPump(JailHandles jail, const CancelToken& stop, int end_now, const CommandHooks& hooks)
    : jail_(std::move(jail)), stop_(stop), end_now_(end_now), hooks_(hooks), buffer_(kPumpBufferBytes) {}

CommandResult CommandPump::run(milliseconds timeout, milliseconds output_grace) {
  timeout_ = timeout;
  output_grace_ = output_grace;
  enter(Phase::kStarting, kStartLimit);
  while (!is_finished()) step();
  return result();
}

bool CommandPump::is_finished() const {
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
  std::array<pollfd, kPollCount> fds{};
  fds[kLink] = {jail_.link.fd(), POLLIN, 0};
  fds[kProcess] = {phase_ == Phase::kGone ? -1 : process, POLLIN, 0};
  fds[kOutput] = {jail_.output.get(), POLLIN, 0};
  fds[kErrors] = {jail_.errors.get(), POLLIN, 0};
  fds[kSetupErrors] = {jail_.setup_errors.get(), POLLIN, 0};
  fds[kStop] = {phase_ == Phase::kGone ? -1 : stop_.fd(), POLLIN, 0};
  const bool is_ending = phase_ == Phase::kKilled || phase_ == Phase::kGone;
  fds[kEndNow] = {is_ending ? -1 : end_now_, POLLIN, 0};
  if (::poll(fds.data(), fds.size(), process::poll_limit(deadline_)) < 0) return;
  for (std::size_t index = 0; index < fds.size(); ++index) {
    if (fds[index].revents != 0) on_readable(static_cast<PollIndex>(index));
  }
  if (phase_ == Phase::kLingering && !jail_.output && !jail_.errors) kill(CommandResult::How::kHostFailed);
  if (Steady::now() >= deadline_) on_deadline();
}

void CommandPump::on_readable(PollIndex index) {
  switch (index) {
    case kLink:
      return on_link_readable();
    case kProcess:
      return on_jail_exit();
    case kOutput:
      return forward_output(jail_.output, schemas::OutputStream::kStdout);
    case kErrors:
      return forward_output(jail_.errors, schemas::OutputStream::kStderr);
    case kSetupErrors:
      return read_setup_errors();
    case kStop:
      return on_stop();
    case kEndNow:
      return kill(CommandResult::How::kHostFailed);
    case kPollCount:
      return;
  }
}

void CommandPump::on_link_readable() {
  if (const auto message = jail_.link.receive_message()) on_message(*message);
}

void CommandPump::on_message(const JailMessage& message) {
  switch (message.type) {
    case JailMessageType::kReady:
      if (phase_ == Phase::kStarting) start_command();
      return;
    case JailMessageType::kNotStarted:
      started_ = false;
      reported_end_ = not_started_result(message.step, message.value);
      return;
    case JailMessageType::kEnded:
      usage_ = message.usage;
      return on_command_end(result_of_status(message.value));
    case JailMessageType::kGo:
    case JailMessageType::kTerminate:
      return;
  }
}

// Processes that the command has left behind may still write its output, but not past its time-out.
void CommandPump::on_command_end(CommandResult end) {
  reported_end_ = std::move(end);
  if (phase_ == Phase::kTerminating) return kill(*stop_reason_);
  if (phase_ != Phase::kRunning) return;
  phase_ = Phase::kLingering;
  deadline_ = std::min(deadline_, Steady::now() + output_grace_);
}

void CommandPump::start_command() {
  if (jail_.link.process() < 0) return kill(CommandResult::How::kHostFailed);
  if (hooks_.start_allowed && !hooks_.start_allowed()) return kill(CommandResult::How::kNotStarted);
  started_ = true;
  enter(Phase::kRunning, timeout_);
  jail_.link.send_command(JailMessageType::kGo);
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
      start_timed_out_ = true;
      return kill(CommandResult::How::kHostFailed);
    case Phase::kRunning:
      return terminate(CommandResult::How::kTimedOut);
    case Phase::kLingering:
      output_open_ = true;
      return kill(CommandResult::How::kHostFailed);
    case Phase::kTerminating:
      return kill(*stop_reason_);
    case Phase::kKilled:
    case Phase::kGone:
      gave_up_ = true;
      return;
  }
}

void CommandPump::terminate(CommandResult::How why) {
  if (phase_ == Phase::kStarting || reported_end_) return kill(why);
  if (phase_ != Phase::kRunning) return;
  stop_reason_ = why;
  enter(Phase::kTerminating, kStopGrace);
  jail_.link.send_command(JailMessageType::kTerminate);
}

void CommandPump::kill(CommandResult::How why) {
  if (phase_ == Phase::kKilled || phase_ == Phase::kGone) return;
  if (!stop_reason_ && !reported_end_) stop_reason_ = why;
  if (jail_.link.process() < 0) jail_.child.kill_tree();
  jail_.link.kill();
  enter(Phase::kKilled, kKillLimit);
}

// The last message of the first process may still be in the socket.
void CommandPump::on_jail_exit() {
  while (jail_.link.fd() >= 0 && !reported_end_) {
    const auto message = jail_.link.receive_message();
    if (!message) break;
    on_message(*message);
  }
  enter(Phase::kGone, kDrainGrace);
}

void CommandPump::forward_output(base::Fd& from, schemas::OutputStream stream) {
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
  if (stop_reason_) {
    return make_result(*stop_reason_, start_timed_out_ ? "the jail did not start in time" : "");
  }
  if (reported_end_) {
    reported_end_->output_open = output_open_;
    return std::move(*reported_end_);
  }
  const std::string reason = setup_text_.substr(0, setup_text_.find('\n'));
  return make_result(CommandResult::How::kHostFailed, reason.empty() ? "the jail was killed" : reason);
}

namespace {

// The sender's pid, as reported by the kernel. 0: it was not reported.
pid_t sender_of(msghdr& header) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_CREDENTIALS) continue;
    ucred credentials{};
    std::memcpy(&credentials, CMSG_DATA(part), sizeof credentials);
    return credentials.pid;
  }
  return 0;
}

base::Fd pidfd_of(pid_t pid) {
  return pid > 0 ? base::Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) : base::Fd();
}

}  // namespace

base::Result<JailLink::SocketPair> JailLink::make() {
  int ends[2] = {-1, -1};
  const int on = 1;
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return base::error(base::Code::kOverloaded, "no file descriptor is left for a jail: raise `ulimit -n`");
  }
  SocketPair made{JailLink(base::Fd(ends[0])), base::Fd(ends[1])};
  ::setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
  return made;
}

std::optional<JailMessage> JailLink::receive_message() {
  JailMessage message;
  iovec bytes{&message, sizeof message};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
  msghdr header{};
  header.msg_iov = &bytes;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  const ssize_t count = ::recvmsg(socket_.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  if (count != sizeof message) {
    socket_.reset();
    return std::nullopt;
  }
  if (!process_) process_ = pidfd_of(sender_of(header));
  return message;
}

void JailLink::send_command(JailMessageType type) {
  const JailMessage message{type, JailStep::kNone, 0};
  // At most two small messages are in flight, so sending fails only if the other end is gone.
  // `receive_message` detects that.
  ::send(socket_.get(), &message, sizeof message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void JailLink::kill() {
  if (process_) {
    ::syscall(SYS_pidfd_send_signal, process_.get(), SIGKILL, nullptr, 0);
  } else {
    socket_.reset();
  }
}

}  // namespace millrace::machines
