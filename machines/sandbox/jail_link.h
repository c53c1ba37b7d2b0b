#pragma once
#include <optional>

#include "machines/sandbox/jail_protocol.h"
#include "platform/base/fd.h"
#include "platform/base/result.h"

namespace millrace::machines {

// The gateway's end of the socket to the first process of a jail, and that process. Not thread-safe.
class JailLink {
 public:
  struct Ends;
  // kOverloaded: no descriptor is left.
  static base::Result<Ends> make();

  int fd() const { return socket_.get(); }  // readable: `heard` has something; -1: it is over
  // A message; nullopt: nothing now, or the other end is gone and `fd` is -1. The first one tells who the
  // process is.
  std::optional<JailMessage> receive_message();
  void send_command(JailCommand word);

  // Of the first process: readable once the jail and all that ran in it are gone. -1: it has not spoken yet.
  int process() const { return process_.get(); }
  // SIGKILL to it, hence to all in the jail. Before it has spoken the socket closes instead: it then ends
  // without having begun the command.
  void kill();

 private:
  explicit JailLink(base::Fd socket) : socket_(std::move(socket)) {}
  base::Fd socket_;
  base::Fd process_;
};

struct JailLink::Ends {
  JailLink link;
  base::Fd far_end;
};

}  // namespace millrace::machines
