#include "app/cli/machines/exec_command.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "app/cli/cut_off.h"
#include "app/cli/interrupt.h"
#include "app/cli/json_cells.h"
#include "app/cli/machines/exec_stream.h"
#include "app/cli/machines/machine_choice.h"
#include "app/cli/program.h"
#include "app/cli/terminal.h"
#include "platform/base/base64.h"
#include "platform/base/bytes.h"
#include "platform/base/utf8.h"
#include "schemas/machines/execution.h"

namespace millrace::cli {

using nlohmann::json;
namespace {

// Longer than a live worker needs to start an execution.
constexpr std::chrono::seconds kQueuedWait{2};
constexpr int kInvalidStatus = 422;

// Prints what happens to an execution that Ctrl-C left before its end.
void print_left(const ExecutionOutcome& end, const std::string& id, const ClientOptions& options) {
  end_interrupted_line();
  if (end.cancelling) {
    std::cerr << "it is being cancelled: " << program() << " jobs show" << gateway_options(options) << " "
              << id << '\n';
  } else {
    std::cerr << "it continues as " << id << '\n';
  }
}

// Our side has ended before the execution, or before its last output was written: cancels the execution if
// that was requested and it has not ended, and says what happens to it. After a hang-up nobody waits for an
// answer about its end.
int print_cut_off(Client& client, const ExecutionOutcome& end, bool cancels, const std::string& path,
                  const std::string& id) {
  const bool may_have_ended = !end.cancelling && (cancels || end.failure != kHungUp);
  if (const auto text = may_have_ended ? ended_text(client, path, id) : std::nullopt)
    return fail_cut_off(*end.cut_off, *text);
  const bool cancelled = end.cancelling || (cancels && client.request("DELETE", path).ok);
  return fail_cut_off(*end.cut_off, cancelled ? id + " is being cancelled"
                                              : goes_on_text({id}, gateway_options(client.options())));
}

// Prints how the execution ended if the exit code does not say all of it.
int ended(const ExecutionOutcome& end, bool exit_status, const std::string& id,
          const ClientOptions& options) {
  const int exit_code = exit_code_of(end, exit_status);
  if (end.status.empty() && end.failure == kInterrupted && !end.cut_off) print_left(end, id, options);
  const bool by_command = ended_by_itself(end);
  const bool is_complete = by_command && exit_status && end.error_code.empty();
  if (end.status.empty() || end.status == "succeeded" || is_complete) return exit_code;
  std::cerr << "millrace: " << id << " " << end.status;
  if (by_command && end.signal != 0) std::cerr << ": signal " << end.signal;
  if (by_command && end.signal == 0) std::cerr << ": exit code " << end.exit_code;
  if (!end.error_message.empty()) std::cerr << ": " << end.error_message;
  if (!end.error_code.empty()) std::cerr << " (" << end.error_code << ")";
  std::cerr << '\n';
  return exit_code;
}

std::string machine_path(const std::string& machine) { return "/v1/machines/" + machine + "/executions"; }

int print_json_output(Client& client, const std::string& path) {
  const auto answer = client.request("GET", path + "/output");
  if (!answer.ok) return fail(answer.error);
  const auto cut_off = print_whole(answer.reply.body + '\n');
  return cut_off ? fail_cut_off(*cut_off) : int{kOk};
}

// Prints the existing output without waiting for more.
int print_output(Client& client, const std::string& path) {
  if (client.options().json) return print_json_output(client, path);
  std::string cursor;
  do {
    const auto answer = client.request("GET", path + "/events?limit=200" + cursor);
    if (!answer.ok) return fail(answer.error);
    for (const json& event : answer.json->value("items", json::array())) {
      if (!print_event(event)) return fail_cut_off(output_cut_off(errno));
    }
    const std::string next = answer.json->value("next_cursor", "");
    cursor = next.empty() ? "" : "&cursor=" + percent_encoded(next);
  } while (!cursor.empty());
  return kOk;
}

// Reports that output was cut, so that it is not mistaken for the whole output.
void print_rest(const json& execution, const std::string& stream) {
  if (!execution.value(stream + "_truncated", false)) return;
  std::cerr << "millrace: " << stream << " was truncated: only the first of its "
            << execution.value(stream + "_bytes", std::int64_t{0}) << " bytes are kept (exec.output_max)\n";
}

// Prints how to copy the artifacts, if a person is watching.
void point_to_artifacts(const json& execution, const ClientOptions& options, const std::string& id,
                        const std::string& machine) {
  if (options.quiet || ::isatty(STDERR_FILENO) == 0) return;
  const std::size_t count = execution.value("artifacts", json::array()).size();
  if (count == 0) return;
  std::cerr << count << (count == 1 ? " artifact: " : " artifacts: ") << program() << " exec cp"
            << (machine.empty() ? "" : " -m " + shell_word(machine)) << gateway_options(options) << " " << id
            << ": .\n";
}

// Prints the remaining facts of an execution that has ended.
void print_more(Client& client, const std::string& path, const std::string& id, const std::string& machine) {
  const auto answer = client.request("GET", path);
  if (!answer.ok) {
    std::cerr << "millrace: could not ask whether the output is complete: " << answer.error.message << '\n';
    return;
  }
  print_rest(*answer.json, "stdout");
  print_rest(*answer.json, "stderr");
  point_to_artifacts(*answer.json, client.options(), id, machine);
}

// Reports a validation error of the gateway with our flag names.
int refused(ClientError error) {
  if (error.status == kInvalidStatus) error.message = with_flag_names(error.message);
  return fail(error);
}

// Follows an execution to its end; reports on stderr what it waits for before it starts. `status`: its
// initial status; `run_at`: when it starts, empty: at once.
ExecutionOutcome follow_with_retries(const std::string& path, const std::string& status,
                                     const std::string& run_at, const std::string& id,
                                     const ClientOptions& options, Interrupt& interrupt) {
  const std::string doctor = "`" + program() + " doctor` names the one that runs the machines of its host";
  const bool silent = options.quiet || options.json;
  WaitingLine waking("waking the machine…", options.quiet);
  DelayedLine asleep("millrace: " + id + " waits for its machine, which a worker wakes; " + doctor,
                     kQueuedWait, silent || moves_cursor(STDERR_FILENO));
  DelayedLine queued(
      "millrace: " + id + " is queued: it waits for a worker with a free slot of kind exec; " + doctor,
      kQueuedWait, silent);
  const bool is_scheduled = !run_at.empty();
  if (is_scheduled && !silent) std::cerr << "millrace: " << id << " starts at " << run_at << '\n';
  const auto report = [&](std::string_view now, std::int64_t number) {
    const ExecutionWait wait = wait_after(now, number, is_scheduled);
    const bool is_waking = wait == ExecutionWait::kMachine;
    is_waking ? waking.show() : waking.clear();
    is_waking ? asleep.begin() : asleep.end();
    wait == ExecutionWait::kWorker ? queued.begin() : queued.end();
  };
  report(status, 0);
  return follow(path, options, interrupt, OnInterrupt::kCancel, report);
}

}  // namespace

ExecutionWait wait_after(std::string_view status, std::int64_t number, bool is_scheduled) {
  constexpr std::int64_t kFirstEvent = 1;
  if (status == "wake_in_progress") return ExecutionWait::kMachine;
  if (status != "queued") return ExecutionWait::kNothing;
  return is_scheduled && number <= kFirstEvent ? ExecutionWait::kItsTime : ExecutionWait::kWorker;
}

int exec_run(const ExecRequest& request, ClientOptions options) {
  Interrupt interrupt(kCutOff);
  std::string problem;
  const json body = exec_body(request, problem);
  if (!problem.empty()) return fail_usage(problem);
  Client client(options);
  const FoundMachine machine = find_machine(client, request.machine);
  if (machine.exit_code != kOk) return machine.exit_code;
  const auto answer = client.request("POST", machine_path(machine.id), body.dump(), fresh_key_header());
  if (!answer.ok) return refused(answer.error);
  const std::string id = answer.json->value("execution_id", "");
  if (request.detach) {
    return print_made((options.json ? answer.reply.body : id) + '\n',
                      goes_on_text({id}, gateway_options(options)));
  }
  const std::string path = machine_path(machine.id) + "/" + id;
  const ExecutionOutcome end = follow_with_retries(path, answer.json->value("status", ""),
                                                   answer.json->value("run_at", ""), id, options, interrupt);
  if (end.cut_off) return print_cut_off(client, end, request.kill_on_disconnect, path, id);
  const int exit_code = ended(end, request.exit_status, id, options);
  if (!end.status.empty()) print_more(client, path, id, request.machine);
  return exit_code;
}

int exec_logs(const ExecLogsRequest& request, ClientOptions options) {
  Interrupt interrupt(kCutOff);
  Client client(options);
  const FoundMachine machine = find_execution(client, request.machine, request.execution);
  if (machine.exit_code != kOk) return machine.exit_code;
  const std::string path = machine_path(machine.id) + "/" + percent_encoded(request.execution);
  if (!request.follow) {
    const int printed = print_output(client, path);
    if (printed == kOk && !client.options().json)
      print_more(client, path, request.execution, request.machine);
    return printed;
  }
  const ExecutionOutcome end = follow(path, options, interrupt, OnInterrupt::kLeave, {});
  if (end.cut_off) return print_cut_off(client, end, false, path, request.execution);
  const int exit_code = ended(end, false, request.execution, options);
  if (!end.status.empty()) print_more(client, path, request.execution, request.machine);
  return exit_code;
}

using nlohmann::json;
namespace {

struct FlagWord {
  std::string_view field, flag;
};
constexpr std::array<FlagWord, 8> kFlagWords{{{"command", "the command"},
                                              {"cwd", "--cwd"},
                                              {"env", "--env"},
                                              {"stdin", "--stdin"},
                                              {"stdin_base64", "--stdin"},
                                              {"timeout_ms", "--timeout"},
                                              {"run_at", "--run-at"},
                                              {"delay", "--delay"}}};
constexpr std::string_view kBody = "body.";
constexpr std::string_view kBetween = "; ";

std::optional<std::string> read_input(const std::string& path) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  std::ifstream file(path, std::ios::binary);
  file.peek();  // a folder can be opened but not read
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Replaces the field name at the start of one problem: "body.cwd: …", "cwd: …", "env.NAME: …".
std::string problem_with_flag_name(std::string_view problem) {
  const std::string_view named = problem.starts_with(kBody) ? problem.substr(kBody.size()) : problem;
  const std::size_t end = named.find_first_of(":.");
  for (const FlagWord& word : kFlagWords) {
    if (end == std::string_view::npos || named.substr(0, end) != word.field) continue;
    const std::string_view rest = named.substr(end);
    return std::string(word.flag).append(rest.front() == '.' ? " " : ":").append(rest.substr(1));
  }
  return std::string(problem);
}

}  // namespace

namespace {

// Names the first text that is not UTF-8, which JSON cannot carry. Empty: there is none.
std::string not_utf8(const ExecRequest& request) {
  const auto not_text = [](std::string_view text) { return !base::is_utf8(text); };
  const auto word = std::ranges::find_if(request.command, not_text);
  if (word == request.command.begin() && word != request.command.end()) return "the name of the command";
  if (word != request.command.end())
    return "argument " + std::to_string(word - request.command.begin()) + " of the command";
  if (std::ranges::any_of(request.environment, not_text)) return "a value of --env";
  return not_text(request.cwd) ? "--cwd" : "";
}

}  // namespace

json exec_body(const ExecRequest& request, std::string& problem) {
  if (const std::string what = not_utf8(request); !what.empty()) {
    problem = what + " is not UTF-8 text, as the gateway's API requires; other bytes can go in by --stdin";
    return {};
  }
  json body = {{"command", request.command}};
  if (!request.cwd.empty()) body["cwd"] = request.cwd;
  for (const std::string& pair : request.environment) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) problem = "--env needs NAME=value, not \"" + pair + "\"";
    body["env"][pair.substr(0, equals)] = equals == std::string::npos ? "" : pair.substr(equals + 1);
  }
  if (!request.timeout.empty()) {
    const auto timeout = base::parse_duration(request.timeout);
    if (!timeout) problem = "--timeout needs a duration such as 10m, 90s or 500ms";
    if (timeout && (timeout->count() < 1 || timeout->count() > schemas::kTimeoutMsMax))
      problem = "--timeout needs a duration from 1ms to 24h";
    body["timeout_ms"] = timeout ? timeout->count() : 0;
  }
  if (!request.input.empty()) {
    const auto input = read_input(request.input);
    if (!input) problem = request.input + " cannot be read";
    const bool is_text = input && base::is_utf8(*input);
    if (input) body[is_text ? "stdin" : "stdin_base64"] = is_text ? *input : base::base64_encode(*input);
  }
  request.start.add_to(body);
  return body;
}

std::string with_flag_names(std::string_view message) {
  std::string out;
  for (;;) {
    const std::size_t end = message.find(kBetween);
    out += problem_with_flag_name(message.substr(0, end));
    if (end == std::string_view::npos) return out;
    out += kBetween;
    message.remove_prefix(end + kBetween.size());
  }
}

bool ended_by_itself(const ExecutionOutcome& end) {
  const bool has_code = end.signal != 0 || end.exit_code != 0;
  return end.status == "succeeded" || (end.status == "failed" && (has_code || end.error_code.empty()));
}

int exit_code_of(const ExecutionOutcome& end, bool exit_status) {
  if (end.status.empty()) return end.failure;
  if (end.status == "succeeded") return kOk;
  if (end.status == "cancelled" && end.interrupted) return kInterrupted;
  if (!exit_status) return kFailed;
  if (ended_by_itself(end)) return end.signal != 0 ? kSignalBase + end.signal : end.exit_code;
  return end.error_code == "execution_timed_out" ? kTimedOut : kNoExitCode;
}

using nlohmann::json;
namespace {

constexpr std::size_t kExecutionsPerPage = 200;
constexpr std::size_t kCommandBytes = 60;

std::string command_text(const json& execution) {
  std::string out;
  for (const json& word : execution.value("command", json::array()))
    out += (out.empty() ? "" : " ") + shell_word(plain(word));
  return one_line(out, kCommandBytes);
}

std::string exit_text(const json& execution) {
  if (const int signal = execution.value("signal", 0); signal != 0) return "SIG" + std::to_string(signal);
  const auto code = execution.find("exit_code");
  return code == execution.end() ? "-" : plain(*code);
}

std::string execution_cells(std::string id, std::string status, std::string exit, std::string created,
                            const std::string& command) {
  return padded(std::move(id), 41) + "  " + padded(std::move(status), 16) + "  " +
         padded(std::move(exit), 5) + "  " + padded(std::move(created), 24) + "  " + command;
}

}  // namespace

std::string execution_header() { return execution_cells("ID", "STATUS", "EXIT", "CREATED", "COMMAND"); }

std::string execution_row(const json& execution) {
  return execution_cells(text_at(execution, "execution_id"), text_at(execution, "status"),
                         exit_text(execution), text_at(execution, "created_at"), command_text(execution));
}

int exec_ls(const ExecListRequest& request, ClientOptions options) {
  Client client(std::move(options));
  const bool as_json = client.options().json;
  const FoundMachine machine = find_machine(client, request.machine);
  if (machine.exit_code != kOk) return machine.exit_code;
  const std::string path = "/v1/machines/" + percent_encoded(machine.id) + "/executions?limit=";
  const bool counts = !as_json && !client.options().quiet;  // those that are not shown
  const auto limit = static_cast<std::size_t>(request.limit);
  std::size_t shown = 0, seen = 0;
  std::string cursor;
  while (shown < limit || (counts && seen < std::max(limit, kRowsCountedMax))) {
    const std::size_t wanted = counts ? kExecutionsPerPage : std::min(limit - shown, kExecutionsPerPage);
    const auto answer = client.request("GET", path + std::to_string(wanted) + cursor);
    if (!answer.ok) return fail(answer.error);
    const auto items = answer.json->find("items");
    if (items == answer.json->end() || !items->is_array())
      return fail(client.no_gateway("its execution list has no `items`"));
    if (cursor.empty() && !as_json) std::cout << execution_header() << '\n';
    seen += items->size();
    for (const json& execution : *items) {
      if (shown == limit) break;
      std::cout << (as_json ? execution.dump() : execution_row(execution)) << '\n';
      ++shown;
    }
    const std::string next = answer.json->value("next_cursor", "");
    cursor = next.empty() ? "" : "&cursor=" + percent_encoded(next);
    if (cursor.empty()) break;
  }
  if (seen > shown)
    std::cerr << "millrace: " << more_rows_text("executions", shown, seen, cursor.empty()) << '\n';
  return kOk;
}

}  // namespace millrace::cli
