#include "machines/sshd/connection_relay.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <utility>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace millrace::machines {
namespace {

using std::chrono::milliseconds;

constexpr int kForever = -1;

bool passes() { return errno == EAGAIN || errno == EINTR; }

void signal_event(const base::Fd& event) {
  const std::uint64_t one = 1;
  // fails only if the counter is at its maximum
  [[maybe_unused]] const ssize_t written = ::write(event.get(), &one, sizeof one);
}

// sshd sets these options on a socket, but it has only pipes here.
void set_options(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

bool set_nonblocking(const base::Fd& fd) {
  const int flags = ::fcntl(fd.get(), F_GETFL);
  return flags >= 0 && ::fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK) == 0;
}

}  // namespace

base::Result<ConnectionRelay::Started> ConnectionRelay::start(base::Fd socket, std::string_view received) {
  auto input = base::make_pipe();
  if (!input) return std::move(input.error());
  auto output = base::make_pipe();
  if (!output) return std::move(output.error());
  base::Fd stop(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), over(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop || !over || !set_nonblocking(socket) || !set_nonblocking(input->write) ||
      !set_nonblocking(output->read)) {
    return base::error(base::Code::kOverloaded, "no file descriptor is left: raise `ulimit -n`");
  }
  set_options(socket.get());
  std::unique_ptr<ConnectionRelay> relay(new ConnectionRelay(std::move(socket), received,
                                                             std::move(input->write), std::move(output->read),
                                                             std::move(stop), std::move(over)));
  return Started{std::move(relay), {std::move(input->read), std::move(output->write)}};
}

ConnectionRelay::ConnectionRelay(base::Fd socket, std::string_view received, base::Fd to_jail,
                                 base::Fd from_jail, base::Fd stop, base::Fd over)
    : socket_(std::move(socket)),
      to_jail_(std::move(to_jail)),
      from_jail_(std::move(from_jail)),
      stop_(std::move(stop)),
      over_(std::move(over)),
      in_(received),
      thread_([this] { run(); }) {}

ConnectionRelay::~ConnectionRelay() {
  signal_event(stop_);
  thread_.join();
}

bool ConnectionRelay::is_over() const {
  pollfd over{over_.get(), POLLIN, 0};
  return ::poll(&over, 1, 0) > 0;
}

void ConnectionRelay::run() {
  pthread_setname_np(pthread_self(), "ssh relay");
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  while (step()) {
  }
  to_jail_.reset();
  from_jail_.reset();
  socket_.reset();
  signal_event(over_);
}

int ConnectionRelay::wait_limit() const {
  if (from_jail_) return kForever;
  const auto left = std::chrono::ceil<milliseconds>(deadline_ - std::chrono::steady_clock::now());
  return static_cast<int>(std::max<milliseconds::rep>(left.count(), 0));
}

void ConnectionRelay::end_within(std::chrono::seconds time) {
  deadline_ = std::chrono::steady_clock::now() + time;
}

// False: the connection is over or must end.
bool ConnectionRelay::step() {
  const bool reads_client = !client_has_ended_ && (is_shut_ || (to_jail_ && in_.is_empty()));
  const int client_events = (reads_client ? POLLIN : 0) | (out_.is_empty() ? 0 : POLLOUT);
  std::array<pollfd, 4> fds{pollfd{stop_.get(), POLLIN, 0},
                            pollfd{socket_.get(), static_cast<short>(client_events), 0},
                            pollfd{to_jail_.get(), static_cast<short>(in_.is_empty() ? 0 : POLLOUT), 0},
                            pollfd{out_.is_empty() ? from_jail_.get() : -1, POLLIN, 0}};
  const int ready = ::poll(fds.data(), fds.size(), wait_limit());
  if (ready < 0) return errno == EINTR;
  if (ready == 0 || fds[0].revents != 0) return false;
  // The client does not delay the end by sending more data after the jail has ended.
  if (!from_jail_ && std::chrono::steady_clock::now() >= deadline_) return false;
  if ((fds[1].revents & POLLIN) != 0) read_client();
  if ((fds[1].revents & POLLOUT) != 0) write_client();
  if ((fds[1].revents & (POLLERR | POLLHUP)) != 0) socket_.reset();
  if ((fds[2].revents & POLLERR) != 0) to_jail_.reset();
  if (to_jail_ && (fds[2].revents & POLLOUT) != 0) write_jail();
  if (fds[3].revents != 0) read_jail();
  settle();
  return static_cast<bool>(socket_);
}

// Input that arrives after the jail has ended is discarded.
void ConnectionRelay::read_client() {
  const ssize_t count = ::read(socket_.get(), in_.bytes.get(), kFlowBytes);
  if (count < 0 && passes()) return;
  if (count <= 0) client_has_ended_ = true;
  if (count < 0) socket_.reset();
  in_.begin = 0;
  in_.end = count > 0 && to_jail_ ? static_cast<std::size_t>(count) : 0;
}

void ConnectionRelay::read_jail() {
  const ssize_t count = ::read(from_jail_.get(), out_.bytes.get(), kFlowBytes);
  if (count < 0 && passes()) return;
  if (count <= 0) {
    end_within(kStalled);
    return from_jail_.reset();
  }
  out_.begin = 0;
  out_.end = static_cast<std::size_t>(count);
}

void ConnectionRelay::write_jail() {
  const ssize_t count = ::write(to_jail_.get(), in_.bytes.get() + in_.begin, in_.end - in_.begin);
  if (count < 0 && passes()) return;
  if (count < 0) return to_jail_.reset();
  in_.begin += static_cast<std::size_t>(count);
}

void ConnectionRelay::write_client() {
  const ssize_t count =
      ::send(socket_.get(), out_.bytes.get() + out_.begin, out_.end - out_.begin, MSG_NOSIGNAL);
  if (count < 0 && passes()) return;
  if (count < 0) return socket_.reset();
  out_.begin += static_cast<std::size_t>(count);
  if (!from_jail_) end_within(kStalled);
}

// Forwards the end of file from one side to the other.
void ConnectionRelay::settle() {
  if (!to_jail_) in_.begin = in_.end;
  if (client_has_ended_ && in_.is_empty()) to_jail_.reset();
  if (from_jail_ || !out_.is_empty()) return;
  if (client_has_ended_) return socket_.reset();
  if (std::exchange(is_shut_, true)) return;
  ::shutdown(socket_.get(), SHUT_WR);
  end_within(kLinger);
}

}  // namespace millrace::machines
