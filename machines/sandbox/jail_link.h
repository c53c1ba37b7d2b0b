#pragma once
#include <optional>

#include "machines/sandbox/jail_protocol.h"
#include "platform/base/fd.h"
#include "platform/base/result.h"

namespace millrace::machines {

// The gateway's end of the socket to the first process of a jail, and a handle on that process. Not
// thread-safe.
class JailLink {
 public:
  struct SocketPair;
  // kOverloaded: the process has no free file descriptor.
  static base::Result<SocketPair> make();

  int fd() const { return socket_.get(); }  // readable: call `receive_message`; -1: the link is closed
  // Returns the next message. nullopt: there is none yet, or the other end is closed and `fd` is now -1. The
  // first message identifies the process.
  std::optional<JailMessage> receive_message();
  void send_command(JailCommand word);

  // The pidfd of the first process. It becomes readable once the jail and all processes in it are gone. -1:
  // the first message has not arrived yet.
  int process() const { return process_.get(); }
  // Sends SIGKILL to the first process, which kills every process of the jail. Before the first message has
  // arrived, it closes the socket instead: the first process then exits without starting the command.
  void kill();

 private:
  explicit JailLink(base::Fd socket) : socket_(std::move(socket)) {}
  base::Fd socket_;
  base::Fd process_;
};

struct JailLink::SocketPair {
  JailLink link;
  base::Fd jail_socket;
};

}  // namespace millrace::machines
