#pragma once
#include <string>

#include "platform/base/fd.h"
#include "platform/base/result.h"

namespace millrace::machines {

struct ListeningSocket {
  base::Fd socket;  // does not block
  int port = 0;
};

// Listens at `host` (a name or an address) and `port`, or, if that is taken or 0, at any port. Blocks for the
// name. kHostAgentFailed.
base::Result<ListeningSocket> listening_socket(const std::string& host, int port);

}  // namespace millrace::machines
