#include "app/cli/exec_list.h"

#include <algorithm>
#include <iostream>

#include <nlohmann/json.hpp>

#include "app/cli/json_cells.h"
#include "app/cli/machine_choice.h"
#include "app/cli/program.h"

namespace millrace::cli {
using nlohmann::json;
namespace {

constexpr int kExecutionsPerPage = 200;
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
  std::string cursor;
  for (int left = request.limit; left > 0;) {
    std::string page = path;
    page.append(std::to_string(std::min(left, kExecutionsPerPage))).append(cursor);
    const auto answer = client.request("GET", page);
    if (!answer.ok) return fail(answer.error);
    const auto items = answer.json->find("items");
    if (items == answer.json->end() || !items->is_array())
      return fail(client.no_gateway("its list of executions has no `items`"));
    if (cursor.empty() && !as_json) std::cout << execution_header() << '\n';
    for (const json& execution : *items)
      std::cout << (as_json ? execution.dump() : execution_row(execution)) << '\n';
    left -= static_cast<int>(items->size());
    const std::string next = answer.json->value("next_cursor", "");
    if (next.empty()) break;
    cursor = "&cursor=" + percent_encoded(next);
  }
  return kOk;
}

}  // namespace millrace::cli
