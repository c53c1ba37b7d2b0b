#pragma once
#include <sys/types.h>

#include "machines/sandbox/jail_protocol.h"

namespace millrace::machines {

struct StartedCommand {
  pid_t pid = -1;  // 0 or less: the command was not executed
  JailStep step = JailStep::kNone;
  int error = 0;  // an errno
};

// Starts the command of the request at kJailRequestFd in a new session, with its limits and its three
// streams. Blocks until it has been executed or has failed. Closes kJailStdin to kJailStderr.
StartedCommand begin_command();

}  // namespace millrace::machines
