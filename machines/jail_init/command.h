#pragma once
#include <sys/types.h>

#include "machines/sandbox/jail_protocol.h"

namespace millrace::machines {

struct BegunCommand {
  pid_t pid = -1;  // not above 0: it was not executed
  JailStep step = JailStep::kNone;
  int error = 0;  // an errno
};

// Begins the command of the order at kJailOrder in a session of its own, with its limits and its three
// streams, and blocks until it is executed or is known not to be. Closes kJailStdin to kJailStderr.
BegunCommand begin_command();

}  // namespace millrace::machines
