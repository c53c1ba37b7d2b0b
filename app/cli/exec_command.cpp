#include "app/cli/exec_command.h"

#include <chrono>
#include <cstdio>
#include <iostream>
#include <string_view>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "app/cli/delayed_line.h"
#include "app/cli/exec_body.h"
#include "app/cli/exec_exit.h"
#include "app/cli/exec_stream.h"
#include "app/cli/interrupt.h"
#include "app/cli/machine_choice.h"
#include "app/cli/program.h"
#include "app/cli/terminal.h"
#include "app/cli/waiting_line.h"

namespace millrace::cli {
using nlohmann::json;
namespace {

// Longer than a worker that lives takes to begin.
constexpr std::chrono::seconds kQueuedPatience{2};
constexpr int kInvalidStatus = 422;

// What becomes of an execution that Ctrl-C has left before its end.
void tell_left(const ExecEnd& end, const std::string& id, const ClientOptions& options) {
  end_interrupted_line();
  if (end.cancelling) {
    std::cerr << "it is being cancelled: " << program() << " jobs show" << gateway_options(options) << " "
              << id << '\n';
  } else {
    std::cerr << "it goes on as " << id << '\n';
  }
}

// Says how it ended, where the exit code does not say all of it.
int ended(const ExecEnd& end, bool exit_status, const std::string& id, const ClientOptions& options) {
  const int exit_code = exit_code_of(end, exit_status);
  if (end.status.empty() && end.failure == kInterrupted) tell_left(end, id, options);
  const bool by_command = ended_by_itself(end);
  if (end.status.empty() || end.status == "succeeded" || (by_command && exit_status)) return exit_code;
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
  std::cout << answer.reply.body << '\n';
  return kOk;
}

// What there is, without waiting for more.
int print_output(Client& client, const std::string& path) {
  if (client.options().json) return print_json_output(client, path);
  std::string cursor;
  do {
    const auto answer = client.request("GET", path + "/events?limit=200" + cursor);
    if (!answer.ok) return fail(answer.error);
    for (const json& event : answer.json->value("items", json::array())) print_event(event);
    const std::string next = answer.json->value("next_cursor", "");
    cursor = next.empty() ? "" : "&cursor=" + percent_encoded(next);
  } while (!cursor.empty());
  return kOk;
}

// A stream that is longer than what is kept of it does not look complete by accident.
void tell_of_the_rest(const json& execution, const std::string& stream) {
  if (!execution.value(stream + "_truncated", false)) return;
  std::cerr << "millrace: " << stream << " was cut: only the first of its "
            << execution.value(stream + "_bytes", std::int64_t{0}) << " bytes are kept (exec.output_max)\n";
}

// How to get what it left, for a person who watches.
void point_to_artifacts(const json& execution, const ClientOptions& options, const std::string& id,
                        const std::string& machine) {
  if (options.quiet || ::isatty(STDERR_FILENO) == 0) return;
  const std::size_t count = execution.value("artifacts", json::array()).size();
  if (count == 0) return;
  std::cerr << count << (count == 1 ? " artifact: " : " artifacts: ") << program() << " exec cp"
            << (machine.empty() ? "" : " -m " + shell_word(machine)) << gateway_options(options) << " " << id
            << ": .\n";
}

// What an execution that has ended still has to say.
void tell_more(Client& client, const std::string& path, const std::string& id, const std::string& machine) {
  const auto answer = client.request("GET", path);
  if (!answer.ok) return;
  tell_of_the_rest(*answer.json, "stdout");
  tell_of_the_rest(*answer.json, "stderr");
  point_to_artifacts(*answer.json, client.options(), id, machine);
}

// A field that is wrong is one of our flags.
int refused(ClientError error) {
  if (error.status == kInvalidStatus) error.message = in_flag_words(error.message);
  return fail(error);
}

// To its end; what it waits for before it runs is on stderr. `status`: what it was at first.
ExecEnd follow_patiently(const std::string& path, const std::string& status, const std::string& id,
                         const ClientOptions& options, Interrupt& interrupt) {
  const std::string doctor = "`" + program() + " doctor` names the one that runs the machines of its host";
  const bool silent = options.quiet || options.json;
  WaitingLine waking("waking the machine…", options.quiet);
  DelayedLine asleep("millrace: " + id + " waits for its machine, which a worker wakes; " + doctor,
                     kQueuedPatience, silent || moves_cursor(STDERR_FILENO));
  DelayedLine queued(
      "millrace: " + id + " is queued: it waits for a worker with a free slot of kind exec; " + doctor,
      kQueuedPatience, silent);
  const auto tell = [&](std::string_view now) {
    const bool is_waking = now == "wake_in_progress";
    is_waking ? waking.show() : waking.clear();
    is_waking ? asleep.begin() : asleep.end();
    now == "queued" ? queued.begin() : queued.end();
  };
  tell(status);
  return follow(path, options, interrupt, OnInterrupt::kCancel, tell);
}

}  // namespace

int exec_run(const ExecRequest& request, ClientOptions options) {
  Interrupt interrupt;
  std::string problem;
  const json body = exec_body(request, problem);
  if (!problem.empty()) return misused(problem);
  Client client(options);
  const FoundMachine machine = find_machine(client, request.machine);
  if (machine.exit_code != kOk) return machine.exit_code;
  const auto answer = client.request("POST", machine_path(machine.id), body.dump(), fresh_key_header());
  if (!answer.ok) return refused(answer.error);
  const std::string id = answer.json->value("execution_id", "");
  if (request.detach) {
    std::cout << (options.json ? answer.reply.body : id) << '\n';
    return kOk;
  }
  const std::string path = machine_path(machine.id) + "/" + id;
  const ExecEnd end = follow_patiently(path, answer.json->value("status", ""), id, options, interrupt);
  const int exit_code = ended(end, request.exit_status, id, options);
  if (!end.status.empty()) tell_more(client, path, id, request.machine);
  return exit_code;
}

int exec_logs(const ExecLogsRequest& request, ClientOptions options) {
  Interrupt interrupt;
  Client client(options);
  const FoundMachine machine = find_execution(client, request.machine, request.execution);
  if (machine.exit_code != kOk) return machine.exit_code;
  const std::string path = machine_path(machine.id) + "/" + percent_encoded(request.execution);
  if (!request.follow) {
    const int printed = print_output(client, path);
    if (printed == kOk && !client.options().json) tell_more(client, path, request.execution, request.machine);
    return printed;
  }
  const ExecEnd end = follow(path, options, interrupt, OnInterrupt::kLeave, {});
  const int exit_code = ended(end, false, request.execution, options);
  if (!end.status.empty()) tell_more(client, path, request.execution, request.machine);
  return exit_code;
}

}  // namespace millrace::cli
