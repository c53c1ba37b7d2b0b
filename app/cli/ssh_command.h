#pragma once
#include <string>
#include <vector>

#include "app/cli/client.h"

namespace millrace::cli {

struct SshRequest {
  std::string machine;               // id or name
  std::vector<std::string> options;  // K=V for ssh, beside its own
  std::vector<std::string> command;  // as ssh takes it: the remote shell reads it; empty: a shell
};

// `millrace ssh`: stock ssh with a key and a certificate for this one login. The key never leaves a folder
// that is gone at the end, and the session is closed then, whatever the end is. Returns ssh's exit code, or
// an ExitCode where it did not come to that.
int run_ssh(const SshRequest& request, ClientOptions options);

}  // namespace millrace::cli
