#pragma once
#include <optional>
#include <string>
#include <vector>

#include <signal.h>

#include "app/cli/client.h"
#include "platform/base/result.h"

namespace millrace::cli {

// The first program of this name in PATH; nullopt: there is none.
std::optional<std::string> find_program(const std::string& name);

// Runs programs that have our terminal: they stay in our process group, stop and go on with us, and get what
// Ctrl-C sends. While it lives the signals that would end us are blocked and only passed on, so that what
// stands behind the program is always reached. Make it before other threads start.
class Foreground {
 public:
  Foreground();
  ~Foreground();
  Foreground(const Foreground&) = delete;
  Foreground& operator=(const Foreground&) = delete;

  // Blocks to the program's end: its exit code, or 128 + N for a signal. `argv[0]` is its path. kInternal: it
  // cannot be started.
  base::Result<int> run(const std::vector<std::string>& argv);

 private:
  int wait_for(int pid);
  sigset_t before_{};
  int signals_ = -1;
};

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
