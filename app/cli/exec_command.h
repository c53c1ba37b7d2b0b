#pragma once
#include <string>
#include <vector>

#include "app/cli/client.h"

namespace millrace::cli {

struct ExecRequest {
  std::string machine;                   // id or name; empty: the only one, or `local`
  std::vector<std::string> environment;  // NAME=value
  std::string cwd;
  std::string timeout;       // "10m", "90s", "500ms"; empty: the gateway's default
  std::string input;         // file for stdin, "-": ours; empty: none
  bool detach = false;       // print the id and leave
  bool exit_status = false;  // end with the command's own exit code: exec_exit.h
  std::vector<std::string> command;
};

// `millrace exec …`; each returns an ExitCode, `exec_run` with `exit_status` also those of exec_exit.h.
// Output comes on our stdout and stderr as the command wrote it, while it runs. Ctrl-C cancels, twice leaves.
int exec_run(const ExecRequest& request, ClientOptions options);
// What an execution has written; `follow`: on until it ends.
struct ExecLogsRequest {
  std::string machine;  // id or name; empty: whichever has the execution
  std::string execution;
  bool follow = false;
};
int exec_logs(const ExecLogsRequest& request, ClientOptions options);

}  // namespace millrace::cli
