#include "platform/base/fd.h"

#include <fcntl.h>
#include <unistd.h>

namespace millrace::base {

void Fd::reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return error(Code::kOverloaded, "no file descriptor is left for a pipe: raise `ulimit -n`");
  }
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

}  // namespace millrace::base
