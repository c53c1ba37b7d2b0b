#include "tests/unit/storage/other_process.h"

#include <cerrno>
#include <csignal>
#include <system_error>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace millrace::storage {

void OtherProcess::Line::send(char c) {
  if (::write(write_, &c, 1) != 1) throw std::system_error(errno, std::generic_category(), "write");
}

char OtherProcess::Line::receive() {
  char c = '\0';
  while (::read(read_, &c, 1) < 0 && errno == EINTR) {
  }
  return c;
}

OtherProcess::OtherProcess(const std::function<int(Line&)>& body) : line_(start(body, pid_, fds_)) {}

OtherProcess::Line OtherProcess::start(const std::function<int(Line&)>& body, pid_t& pid, int (&fds)[2]) {
  int there[2], back[2];
  if (::pipe2(there, O_CLOEXEC) != 0 || ::pipe2(back, O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe");
  }
  pid = ::fork();
  if (pid == 0) {
    ::close(there[1]);
    ::close(back[0]);
    Line line(there[0], back[1]);
    ::_exit(body(line));
  }
  ::close(there[0]);
  ::close(back[1]);
  fds[0] = back[0];
  fds[1] = there[1];
  return {back[0], there[1]};
}

OtherProcess::~OtherProcess() {
  if (pid_ > 0) {
    signal(SIGKILL);
    wait();
  }
  ::close(fds_[0]);
  ::close(fds_[1]);
}

void OtherProcess::signal(int number) const { ::kill(pid_, number); }

void OtherProcess::stop() const {
  signal(SIGSTOP);
  int status = 0;
  ::waitpid(pid_, &status, WUNTRACED);
}

int OtherProcess::wait() {
  int status = 0;
  if (pid_ <= 0 || ::waitpid(pid_, &status, 0) != pid_) return -1;
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace millrace::storage
