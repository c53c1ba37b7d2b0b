#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/client.h"
#include "app/cli/machines/exec_stream.h"

namespace millrace::cli {

struct ExecRequest {
  std::string machine;                   // id or name; empty: the only one, or `local`
  std::vector<std::string> environment;  // NAME=value
  std::string cwd;
  std::string timeout;       // "10m", "90s", "500ms"; empty: the gateway's default
  std::string input;         // file for stdin, "-": ours; empty: none
  bool detach = false;       // print the id and leave
  bool exit_status = false;  // end with the command's own exit code: exec_command.h
  std::vector<std::string> command;
};

// `millrace exec …`; each returns an ExitCode, `exec_run` with `exit_status` also those of exec_command.h.
// Output comes on our stdout and stderr as the command wrote it, while it runs. Ctrl-C cancels, twice leaves.
int exec_run(const ExecRequest& request, ClientOptions options);
// What an execution has written; `follow`: on until it ends.
struct ExecLogsRequest {
  std::string machine;  // id or name; empty: whichever has the execution
  std::string execution;
  bool follow = false;
};
int exec_logs(const ExecLogsRequest& request, ClientOptions options);

// What `millrace exec run` asks for: the body of POST …/executions.

// Reads the file of --stdin. What is wrong with the flags is in `problem`; the body is of no use then.
nlohmann::json exec_body(const ExecRequest& request, std::string& problem);

// What the gateway says of a body's fields, said of the flags that they are: "cwd: …; body.timeout_ms: …"
// becomes "--cwd: …; --timeout: …". What names no field stays as it is.
std::string in_flag_words(std::string_view message);

// What `exec run --exit-status` ends with where the command has no code of its own, as timeout(1) and docker
// have it. Codes of an ExitCode stay what they are.
inline constexpr int kTimedOut = 124;
inline constexpr int kNoEndOfItsOwn = 125;  // never started, lost, or cancelled by somebody else
inline constexpr int kSignalBase = 128;     // and the signal's number, as shells say it

// The exit code of an execution that was followed. Without `exit_status` one that did not succeed is kFailed;
// one that Ctrl-C has cancelled is kInterrupted either way. One whose end is not known is its `failure`.
int exit_code_of(const ExecEnd& end, bool exit_status);

// Whether the command ended by itself: its exit code or signal is all there is to say.
bool ended_by_itself(const ExecEnd& end);

struct ExecListRequest {
  std::string machine;  // id or name; empty: the only one, or `local`
  int limit = 50;
};

// `millrace exec ls`: a machine's executions, newest first, as a table, or with `options.json` one JSON
// object per line; returns an ExitCode.
int exec_ls(const ExecListRequest& request, ClientOptions options);

// One line of it, without its end, and the one above them. The command is as a shell would read it, and cut
// where it is long.
std::string execution_row(const nlohmann::json& execution);
std::string execution_header();

}  // namespace millrace::cli
