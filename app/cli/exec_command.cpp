#include "app/cli/exec_command.h"

#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>

#include <nlohmann/json.hpp>

#include "app/cli/exec_stream.h"
#include "app/cli/interrupt.h"
#include "platform/base/bytes.h"
#include "platform/base/crypto.h"
#include "platform/base/ids.h"

namespace millrace::cli {
using nlohmann::json;
namespace {

constexpr std::size_t kKeyBytes = 16;
constexpr int kMachinesPerPage = 200;
constexpr int kSignalBase = 128;  // as shells say it

int fail(const ClientError& error) {
  print_error(error);
  return error.exit_code;
}

int usage(const std::string& message) {
  std::cerr << "millrace: " << message << '\n';
  return kUsage;
}

// The machine that is meant, or an exit code with its reason on stderr.
struct Found {
  std::string id;
  int exit_code = kOk;
};

Found choose(const json& machines, const std::string& wanted) {
  for (const json& machine : machines) {
    const std::string id = machine.value("machine_id", "");
    const std::string name = machine.value("name", "");
    if (wanted.empty() ? machines.size() == 1 || name == "local" : id == wanted || name == wanted)
      return {id};
  }
  const std::string message = wanted.empty() ? "there is no machine `local`; name one with --machine"
                                             : "there is no machine \"" + wanted + "\"";
  std::cerr << "millrace: " << message << '\n';
  return {{}, kNotFound};
}

Found find_machine(Client& client, const std::string& wanted) {
  json all = json::array();
  std::string cursor;
  do {
    std::string path = "/v1/machines?limit=" + std::to_string(kMachinesPerPage);
    if (!cursor.empty()) path += "&cursor=" + percent_encoded(cursor);
    const auto answer = client.request("GET", path);
    if (!answer.ok) return {{}, fail(answer.error)};
    const json& page = *answer.json;
    for (const json& machine : page.value("items", json::array())) all.push_back(machine);
    cursor = page.value("next_cursor", "");
  } while (!cursor.empty());
  return choose(all, wanted);
}

std::optional<std::string> read_input(const std::string& path) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// The request's body; a usage error is in `problem`.
json body_of(const ExecRequest& request, std::string& problem) {
  json body = {{"command", request.command}};
  if (!request.cwd.empty()) body["cwd"] = request.cwd;
  for (const std::string& pair : request.environment) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) problem = "--env wants NAME=value, not \"" + pair + "\"";
    body["env"][pair.substr(0, equals)] = equals == std::string::npos ? "" : pair.substr(equals + 1);
  }
  if (!request.timeout.empty()) {
    const auto timeout = base::parse_duration(request.timeout);
    if (!timeout) problem = "--timeout wants a time such as 10m, 90s or 500ms";
    body["timeout_ms"] = timeout ? timeout->count() : 0;
  }
  if (!request.input.empty()) {
    const auto input = read_input(request.input);
    if (!input) problem = request.input + " cannot be read";
    body["stdin"] = input.value_or("");
  }
  return body;
}

int ended(const ExecEnd& end, bool exit_status, const std::string& id) {
  if (end.status.empty()) {
    if (end.failure == kInterrupted) std::cerr << "it goes on as " << id << '\n';
    return end.failure;
  }
  if (end.status == "succeeded") return kOk;
  const bool by_command = end.error_code.empty() && end.status == "failed";
  if (!by_command || !exit_status) {
    std::cerr << "millrace: " << id << " " << end.status;
    if (by_command && end.signal != 0) std::cerr << ": signal " << end.signal;
    if (by_command && end.signal == 0) std::cerr << ": exit code " << end.exit_code;
    if (!end.error_message.empty()) std::cerr << ": " << end.error_message;
    if (!end.error_code.empty()) std::cerr << " (" << end.error_code << ")";
    std::cerr << '\n';
  }
  if (!exit_status || !by_command) return kFailed;
  return end.signal != 0 ? kSignalBase + end.signal : end.exit_code;
}

std::string machine_path(const std::string& machine) { return "/v1/machines/" + machine + "/executions"; }

// What there is, without waiting for more.
int print_output(Client& client, const std::string& path) {
  const auto answer = client.request("GET", path + "/output");
  if (!answer.ok) return fail(answer.error);
  if (client.options().json) {
    std::cout << answer.reply.body << '\n';
    return kOk;
  }
  const json& output = *answer.json;
  print_chunk(output, "stdout", "stdout_encoding", stdout);
  print_chunk(output, "stderr", "stderr_encoding", stderr);
  return kOk;
}

}  // namespace

int exec_run(const ExecRequest& request, ClientOptions options) {
  Interrupt interrupt;
  std::string problem;
  const json body = body_of(request, problem);
  if (!problem.empty()) return usage(problem);
  Client client(options);
  const Found machine = find_machine(client, request.machine);
  if (machine.exit_code != kOk) return machine.exit_code;
  const auto answer = client.request(
      "POST", machine_path(machine.id), body.dump(),
      {{"Content-Type", "application/json"}, {"Idempotency-Key", base::hex(base::random_bytes(kKeyBytes))}});
  if (!answer.ok) return fail(answer.error);
  const std::string id = answer.json->value("execution_id", "");
  if (request.detach) {
    std::cout << (options.json ? answer.reply.body : id) << '\n';
    return kOk;
  }
  return ended(follow(machine_path(machine.id) + "/" + id, std::move(options), interrupt),
               request.exit_status, id);
}

int exec_logs(const ExecLogsRequest& request, ClientOptions options) {
  Interrupt interrupt;
  Client client(options);
  const Found machine = find_machine(client, request.machine);
  if (machine.exit_code != kOk) return machine.exit_code;
  const std::string path = machine_path(machine.id) + "/" + percent_encoded(request.execution);
  if (!request.follow) return print_output(client, path);
  return ended(follow(path, std::move(options), interrupt), false, request.execution);
}

}  // namespace millrace::cli
