#pragma once
#include <optional>
#include <string>
#include <vector>

#include <signal.h>

#include "app/cli/client.h"
#include "platform/base/result.h"

namespace millrace::cli {

// The first program of this name in PATH. nullopt: not found.
std::optional<std::string> find_program(const std::string& name);

// Runs programs in the foreground of our terminal. They stay in our process group, are stopped and continued
// with us, and receive Ctrl-C. While an object lives, the signals that would end us are blocked and only
// forwarded, so that the clean-up after the program always runs. Create it before other threads start.
class Foreground {
 public:
  Foreground();
  ~Foreground();
  Foreground(const Foreground&) = delete;
  Foreground& operator=(const Foreground&) = delete;

  // Blocks until the program ends. Returns its exit code, or 128 + N for signal N. `argv[0]` is its path.
  // kInternal: it cannot be started.
  base::Result<int> run(const std::vector<std::string>& argv);

 private:
  int wait_for(int pid);
  sigset_t before_{};
  int signals_ = -1;
};

struct SshArguments {
  std::string machine;               // id or name
  std::vector<std::string> options;  // K=V options for ssh, in addition to ours
  std::vector<std::string> flags;    // of ssh, without values: "-T"
  std::vector<std::string> command;  // passed to the remote shell; empty: a login shell
};

// `millrace ssh`: runs the installed ssh with a key and a certificate made for this login. The key stays in a
// folder that is removed at the end. The session is always closed at the end. Returns ssh's exit code, or an
// ExitCode if ssh was not started.
int run_ssh(const SshArguments& request, ClientOptions options);

}  // namespace millrace::cli
