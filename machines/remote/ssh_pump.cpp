#include "machines/remote/ssh_pump.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "machines/driver.h"
#include "platform/process/child.h"

namespace millrace::machines {
namespace {

using std::chrono::milliseconds;

// from the report that the command has ended to the end of the connection
constexpr milliseconds kCloseLimit{15'000};
constexpr std::size_t kNoiseMax = 4096;
constexpr int kSweepsMax = 3;  // attempts per signal

}  // namespace

SshPump::SshPump(SshHandles handles, Order request, const CancelToken& stop, const CommandHooks& hooks,
                 Sweep sweep)
    : handles_(std::move(handles)),
      request_(std::move(request)),
      stop_(stop),
      hooks_(hooks),
      sweep_(std::move(sweep)),
      output_filter_(request_.token),
      errors_filter_(request_.token),
      buffer_(kPumpBufferBytes),
      tree_{request_.execution, request_.token, 0} {}

SshResult SshPump::run() {
  enter(Phase::kLogin, request_.login_limit);
  while (!over()) step();
  return result();
}

bool SshPump::over() const {
  if (gave_up_) return true;
  return phase_ == Phase::kGone && !handles_.output && !handles_.errors && !sweeper_;
}

void SshPump::enter(Phase phase, milliseconds limit) {
  phase_ = phase;
  deadline_ = Steady::now() + limit;
}

void SshPump::step() {
  const bool gone = phase_ == Phase::kGone;
  const bool feeds = begun_ && sent_ < request_.input.size();
  std::array<pollfd, kSlots> fds{};
  fds[kProcess] = {gone ? -1 : handles_.client.pidfd(), POLLIN, 0};
  fds[kInput] = {feeds ? handles_.input.get() : -1, POLLOUT, 0};
  fds[kOutput] = {handles_.output.get(), POLLIN, 0};
  fds[kErrors] = {handles_.errors.get(), POLLIN, 0};
  fds[kStop] = {gone ? -1 : stop_.fd(), POLLIN, 0};
  fds[kSweeper] = {sweeper_ ? sweeper_->pidfd() : -1, POLLIN, 0};
  if (::poll(fds.data(), fds.size(), process::poll_limit(deadline_)) < 0) return;
  // kProcess comes last, so all output of the client is read before its exit is handled.
  for (const Slot slot : {kInput, kOutput, kErrors, kStop, kSweeper, kProcess}) {
    if (fds[slot].revents != 0) look_at(slot);
  }
  if (Steady::now() >= deadline_) on_deadline();
}

void SshPump::look_at(Slot slot) {
  switch (slot) {
    case kProcess:
      return client_gone();
    case kInput:
      return feed();
    case kOutput:
      return read_output();
    case kErrors:
      return read_errors();
    case kStop:
      return on_stop();
    case kSweeper:
      return on_sweeper_exit();
    case kSlots:
      return;
  }
}

void SshPump::on_stop() {
  std::uint64_t count = 0;
  if (::read(stop_.fd(), &count, sizeof count) != sizeof count) return;
  if (phase_ == Phase::kEnded) return end_lingering();
  if (stop_.killed()) {
    kill(How::kStopped);
  } else {
    terminate(How::kStopped);
  }
}

void SshPump::on_deadline() {
  switch (phase_) {
    case Phase::kLogin:
      return give_up_client(How::kNotRoutable);
    case Phase::kRunning:
      return terminate(How::kTimedOut);
    case Phase::kTerminating:
      return kill(*stop_reason_);
    case Phase::kKilling:
    case Phase::kEnded:
      sweeper_.reset();
      handles_.client.kill_tree();
      return enter(Phase::kGone, kDrainGrace);
    case Phase::kGone:
      gave_up_ = true;
      return;
  }
}

void SshPump::on_message(RemoteMessage word) {
  if (end_ && word.what == RemoteMessage::Kind::kOpen) end_->output_open = true;
  if (end_ || phase_ == Phase::kGone) return;
  switch (word.what) {
    case RemoteMessage::Kind::kReady:
      return ready();
    case RemoteMessage::Kind::kBegan:
      tree_.runner = word.runner;
      return;
    case RemoteMessage::Kind::kEnded:
    case RemoteMessage::Kind::kBroken:
      end_ = std::move(word.end);
      return enter(Phase::kEnded, request_.output_grace + kCloseLimit);
    case RemoteMessage::Kind::kOpen:
      return;
  }
}

void SshPump::ready() {
  if (phase_ != Phase::kLogin) return;
  logged_in_ = true;
  if (hooks_.start_allowed && !hooks_.start_allowed()) return give_up_client(How::kNotStarted);
  begun_ = true;
  enter(Phase::kRunning, request_.timeout);
  feed();
}

void SshPump::feed() {
  const std::string_view left = std::string_view(request_.input).substr(sent_);
  const ssize_t count = ::send(handles_.input.get(), left.data(), left.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  // The command does not read its input any more; that is allowed.
  sent_ = count < 0 ? request_.input.size() : sent_ + static_cast<std::size_t>(count);
  if (sent_ < request_.input.size()) return;
  request_.input = {};
  sent_ = 0;
  if (count < 0 || !read_input_file()) handles_.input.reset();
}

// The next bytes of the input. False: there are none.
bool SshPump::read_input_file() {
  if (!request_.input_file) return false;
  const ssize_t count = ::read(request_.input_file->get(), buffer_.data(), buffer_.size());
  if (count <= 0) return false;
  request_.input.assign(buffer_.data(), static_cast<std::size_t>(count));
  return true;
}

void SshPump::terminate(How why) {
  if (phase_ == Phase::kLogin) return give_up_client(why);
  if (phase_ != Phase::kRunning) return;
  stop_reason_ = why;
  enter(Phase::kTerminating, request_.login_limit + kStopGrace);
  sweeps_left_ = kSweepsMax;
  sweep(SIGTERM);
}

void SshPump::kill(How why) {
  if (phase_ == Phase::kLogin) return give_up_client(why);
  if (killing_ || phase_ == Phase::kEnded || phase_ == Phase::kGone) return;
  if (!stop_reason_) stop_reason_ = why;
  enter(Phase::kKilling, request_.login_limit + kCloseLimit);
  killing_ = true;
  sweeps_left_ = kSweepsMax;
  sweep(SIGKILL);
}

// Nothing has run and nothing will, because the host reads its request from us.
void SshPump::give_up_client(How why) {
  stop_reason_ = why;
  handles_.client.kill_tree();
  enter(Phase::kGone, kDrainGrace);
}

// The command has ended, but its host may still wait for the output of other processes.
void SshPump::end_lingering() {
  sweeps_left_ = 1;
  sweep(SIGKILL);
}

void SshPump::sweep(int signal) {
  sweeper_.reset();
  --sweeps_left_;
  auto started = sweep_(tree_, signal);
  if (started) {
    sweeper_.emplace(std::move(*started));
  } else {
    on_sweeper_exit();
  }
}

// If the connection failed, no process was signalled.
void SshPump::on_sweeper_exit() {
  const auto exit = sweeper_ ? sweeper_->wait(milliseconds(0)) : std::nullopt;
  sweeper_.reset();
  const bool swept = exit && exit->ok();
  const bool sweeps = phase_ == Phase::kTerminating || phase_ == Phase::kKilling;
  if (!swept && sweeps && sweeps_left_ > 0) return sweep(killing_ ? SIGKILL : SIGTERM);
  if (phase_ == Phase::kTerminating) deadline_ = Steady::now() + kStopGrace;
  if (phase_ == Phase::kKilling) deadline_ = Steady::now() + kCloseLimit;
  if (phase_ == Phase::kGone) deadline_ = Steady::now() + kDrainGrace;
}

void SshPump::client_gone() {
  while (handles_.errors && !end_) read_errors();
  const bool broke = begun_ && !end_ && !killing_;
  killing_ = killing_ || broke;
  enter(Phase::kGone, broke || sweeper_ ? request_.login_limit + kCloseLimit : kDrainGrace);
  if (broke) sweep(SIGKILL);  // the connection broke: try another one
}

void SshPump::pass_on(schemas::OutputStream stream, std::string_view bytes) {
  if (bytes.empty()) return;
  hooks_.output(stream, bytes);
  // The receiver of the output may be slow, so the time-out starts again. No process writes more output now.
  if (phase_ == Phase::kGone && !sweeper_) enter(phase_, kDrainGrace);
}

void SshPump::read_output() {
  const ssize_t count = ::read(handles_.output.get(), buffer_.data(), buffer_.size());
  if (count <= 0) return handles_.output.reset();
  pass_on(schemas::OutputStream::kStdout,
          output_filter_.passed({buffer_.data(), static_cast<std::size_t>(count)}));
}

void SshPump::read_errors() {
  const ssize_t count = ::read(handles_.errors.get(), buffer_.data(), buffer_.size());
  if (count <= 0) {
    handles_.errors.reset();
    if (logged_in_) pass_on(schemas::OutputStream::kStderr, errors_filter_.rest());
    return;
  }
  errors_filter_.add({buffer_.data(), static_cast<std::size_t>(count)});
  while (const auto piece = errors_filter_.next()) {
    if (piece->word) {
      on_message(remote_message_from(piece->text));
    } else if (logged_in_) {
      pass_on(schemas::OutputStream::kStderr, piece->text);
    } else {
      noise_.append(piece->text.substr(0, kNoiseMax - std::min(kNoiseMax, noise_.size())));
    }
  }
}

SshResult SshPump::result() {
  SshResult result;
  result.late = stop_reason_ == How::kNotRoutable;
  result.noise = std::move(noise_);
  if (stop_reason_) {
    result.end.how = *stop_reason_;
  } else if (end_) {
    result.end = std::move(*end_);
  } else {
    result.end.how = begun_ || logged_in_ ? How::kHostFailed : How::kNotRoutable;
    if (begun_) result.end.message = kConnectionLost;
  }
  return result;
}

}  // namespace millrace::machines
