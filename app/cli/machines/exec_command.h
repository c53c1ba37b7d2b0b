#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/client.h"
#include "app/cli/job_start.h"
#include "app/cli/machines/exec_stream.h"

namespace millrace::cli {

struct ExecRequest {
  std::string machine{};                   // id or name; empty: the only one, or `local`
  std::vector<std::string> environment{};  // NAME=value
  std::string cwd{};
  std::string timeout{};  // "10m", "90s", "500ms"; empty: the gateway's default
  std::string input{};    // file for stdin; "-": our stdin; empty: none
  JobStartFlags start{};
  bool detach = false;              // print the id and exit
  bool exit_status = false;         // exit with the command's own exit code (kTimedOut and following)
  bool kill_on_disconnect = false;  // cancel the command if our output is closed, or at SIGHUP
  std::vector<std::string> command{};
};

// `millrace exec …`. Each function returns an ExitCode; `exec_run` with `exit_status` also the exit codes
// below. The command's stdout and stderr are copied to ours while it runs. The first Ctrl-C cancels the
// command, the second exits at once. If our output is closed or the terminal hangs up, the command goes on,
// and stderr says so.
int exec_run(const ExecRequest& request, ClientOptions options);

// What an execution waits for before it starts.
enum class ExecutionWait : std::uint8_t { kNothing, kItsTime, kMachine, kWorker };
// After event `number` with this status; 0: before the first one. The API shows a scheduled execution as
// queued; its first event is that it was scheduled, and a later one that its time has come.
ExecutionWait wait_after(std::string_view status, std::int64_t number, bool is_scheduled);

// Output of an execution. `follow`: until it ends.
struct ExecLogsRequest {
  std::string machine;  // id or name; empty: the machine that has the execution
  std::string execution;
  bool follow = false;
};
int exec_logs(const ExecLogsRequest& request, ClientOptions options);

// The request of `millrace exec run`: the body of POST …/executions. Reads the file of --stdin. If a flag is
// wrong, `problem` contains why, and the returned body must not be used.
nlohmann::json exec_body(const ExecRequest& request, std::string& problem);

// Replaces field names in a validation error of the gateway with flag names: "cwd: …; body.timeout_ms: …"
// becomes "--cwd: …; --timeout: …". Problems without a field name stay unchanged.
std::string with_flag_names(std::string_view message);

// Exit codes of `exec run --exit-status` if the command has no exit code of its own, as in timeout(1) and
// docker. The values of ExitCode keep their meaning.
inline constexpr int kTimedOut = 124;
inline constexpr int kNoExitCode = 125;  // not started, lost, or cancelled by another client
inline constexpr int kSignalBase = 128;  // plus the signal number, as in shells

// The exit code for an execution that was followed. Without `exit_status`, an execution that did not succeed
// gives kFailed. If Ctrl-C cancelled it, kInterrupted in both cases. If its end is unknown, its `failure`.
int exit_code_of(const ExecutionOutcome& end, bool exit_status);

// True if the command ended by itself, so that its exit code or signal says everything.
bool ended_by_itself(const ExecutionOutcome& end);

struct ExecListRequest {
  std::string machine;  // id or name; empty: the only one, or `local`
  int limit = 50;
};

// `millrace exec ls`: a machine's executions, newest first, as a table, or with `options.json` one JSON
// object per line. Returns an ExitCode.
int exec_ls(const ExecListRequest& request, ClientOptions options);

// A row of the list and its header row, without a newline. The command is quoted for a shell and cut if it is
// long.
std::string execution_row(const nlohmann::json& execution);
std::string execution_header();

}  // namespace millrace::cli
