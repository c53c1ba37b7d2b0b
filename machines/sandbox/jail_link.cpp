#include "machines/sandbox/jail_link.h"

#include <cerrno>
#include <csignal>
#include <cstring>

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace millrace::machines {
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

base::Fd opened(pid_t pid) {
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
  if (!process_) process_ = opened(sender_of(header));
  return message;
}

void JailLink::send_command(JailCommand word) {
  const JailMessage message{word, JailStep::kNone, 0};
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
