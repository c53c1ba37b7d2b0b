#include "api/front/read_pause.h"

#include <cerrno>
#include <exception>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "platform/base/log.h"

namespace millrace::front {

NeverReadableSocket::~NeverReadableSocket() {
  for (const int end : ends_) {
    if (end >= 0) ::close(end);
  }
}

base::Status NeverReadableSocket::open() {
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends_) == 0) return {};
  return base::error(base::Code::kInternal,
                     "The HTTP front end has no file descriptor left; raise LimitNOFILE.");
}

ReadPause::~ReadPause() {
  if (copy_ >= 0) ::close(copy_);
}

bool ReadPause::stop(const NeverReadableSocket& never_readable) {
  const int copy = ::fcntl(fd_, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return false;
  if (::dup3(never_readable.fd(), fd_, O_CLOEXEC) < 0) {
    ::close(copy);
    return false;
  }
  copy_ = copy;
  return true;
}

// Pistache's epoll still has the client's socket under its number. Its events during the pause were lost, so
// `rearm_read_` must report them again.
void ReadPause::end() {
  if (!stopped()) return;
  const int copy = std::exchange(copy_, -1);
  if (::dup3(copy, fd_, O_CLOEXEC) < 0) base::log_error("front_read_again_failed", {{"errno", errno}});
  ::close(copy);
  try {
    rearm_read_();
  } catch (const std::exception& e) {
    base::log_error("front_read_again_failed", {{"error", e.what()}});
    ::shutdown(fd_, SHUT_RDWR);
  }
}

}  // namespace millrace::front
