#include "app/cli/interrupt.h"

#include <array>
#include <cerrno>
#include <cstdio>

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace millrace::cli {

namespace {

bool is_ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

Interrupt::Interrupt(std::initializer_list<int> also) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  for (const int signal : also) {
    if (signal == SIGPIPE) {
      ::signal(SIGPIPE, SIG_IGN);
    } else if (!is_ignored(signal)) {
      sigaddset(&signals, signal);
    }
  }
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  fd_ = ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

Interrupt::~Interrupt() { ::close(fd_); }

bool Interrupt::wait(std::chrono::milliseconds timeout) {
  pollfd input{fd_, POLLIN, 0};
  return ::poll(&input, 1, static_cast<int>(timeout.count())) > 0 && take();
}

bool Interrupt::wait_on_thread(int other) {
  std::array<pollfd, 2> inputs{pollfd{fd_, POLLIN, 0}, pollfd{other, POLLIN, 0}};
  while (::poll(inputs.data(), inputs.size(), -1) < 0 && errno == EINTR) {
  }
  return inputs[0].revents != 0 && take();
}

bool Interrupt::take() {
  signalfd_siginfo info;
  if (::read(fd_, &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return false;
  last_ = static_cast<int>(info.ssi_signo);
  return true;
}

bool interrupt_waits() {
  sigset_t pending;
  if (::sigpending(&pending) != 0) return false;
  const auto waits = [&](int signal) { return sigismember(&pending, signal) == 1; };
  return waits(SIGINT) || waits(SIGTERM) || waits(SIGHUP);
}

void end_interrupted_line() {
  if (::isatty(STDERR_FILENO) != 0) std::fputc('\n', stderr);
}

}  // namespace millrace::cli
