#include "app/cli/machines/machine_choice.h"

#include <algorithm>
#include <iostream>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "app/cli/program.h"
#include "platform/base/nearest.h"
#include "schemas/machines/machine.h"

namespace millrace::cli {
using nlohmann::json;
namespace {

constexpr int kMachinesPerPage = 200;
constexpr std::string_view kUsual = "local";

// A machine that is being destroyed gives up its name: it is found by name only if no other machine has that
// name.
std::vector<std::string> ids_of(const json& machines, std::string_view name_or_id) {
  std::vector<std::string> ids, going;
  for (const json& machine : machines) {
    const std::string id = machine.value("machine_id", "");
    if (id != name_or_id && machine.value("name", "") != name_or_id) continue;
    (machine.value("desired_state", "") == "destroyed" ? going : ids).push_back(id);
  }
  return ids.empty() ? going : ids;
}

std::string unknown(const json& machines, const std::string& name_or_id) {
  std::vector<std::string> names;
  for (const json& machine : machines) names.push_back(machine.value("name", ""));
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string_view near = base::nearest(name_or_id, known);
  return "there is no machine \"" + name_or_id + "\"" +
         (near.empty() ? "" : "; did you mean `" + std::string(near) + "`?");
}

std::string several(const std::vector<std::string>& ids, std::string_view name_or_id) {
  std::string out = std::to_string(ids.size()) + " machines have the name \"" + std::string(name_or_id) +
                    "\"; name one by its id:";
  for (const std::string& id : ids) out += " " + id;
  return out;
}

constexpr const char* kNoMachines =
    "there is no machine yet: `millrace serve`, or a worker of kind exec, creates `local` at its first start";

}  // namespace

std::optional<ClientError> list_machines(Client& client, json& machines) {
  machines = json::array();
  std::string cursor;
  do {
    std::string path = "/v1/machines?limit=" + std::to_string(kMachinesPerPage);
    if (!cursor.empty()) path += "&cursor=" + percent_encoded(cursor);
    const auto answer = client.request("GET", path);
    if (!answer.ok) return answer.error;
    const auto items = answer.json->find("items");
    if (items == answer.json->end() || !items->is_array())
      return client.no_gateway("its machine list has no `items`");
    for (const json& machine : *items) machines.push_back(machine);
    cursor = answer.json->value("next_cursor", "");
  } while (!cursor.empty());
  return std::nullopt;
}

FoundMachine choose_machine(const json& machines, const std::string& name_or_id) {
  if (name_or_id.empty() && machines.size() == 1) return {machines[0].value("machine_id", ""), kOk, {}};
  const std::vector<std::string> ids = ids_of(machines, name_or_id.empty() ? kUsual : name_or_id);
  if (ids.size() == 1) return {ids.front(), kOk, {}};
  if (ids.size() > 1) return {{}, kUsage, several(ids, name_or_id.empty() ? kUsual : name_or_id)};
  if (machines.empty()) return {{}, kNotFound, kNoMachines};
  return {{},
          kNotFound,
          name_or_id.empty() ? "there is no machine `local`; choose another" : unknown(machines, name_or_id)};
}

FoundMachine find_machine(Client& client, const std::string& name_or_id) {
  if (schemas::machine_id_from(name_or_id)) return {name_or_id, kOk, {}};
  json machines;
  if (const auto error = list_machines(client, machines)) return {{}, fail(*error), {}};
  FoundMachine found = choose_machine(machines, name_or_id);
  if (found.exit_code != kOk) std::cerr << "millrace: " << found.problem << '\n';
  if (found.exit_code == kNotFound)
    std::cerr << "`" << program() << " machines ls" << gateway_options(client.options()) << "` lists them.\n";
  return found;
}

FoundMachine find_execution(Client& client, const std::string& name_or_id, const std::string& execution) {
  if (!name_or_id.empty()) return find_machine(client, name_or_id);
  json machines;
  if (const auto error = list_machines(client, machines)) return {{}, fail(*error), {}};
  std::stable_partition(machines.begin(), machines.end(),
                        [](const json& machine) { return machine.value("name", "") == kUsual; });
  for (const json& machine : machines) {
    const std::string id = machine.value("machine_id", "");
    const auto answer = client.request(
        "GET", "/v1/machines/" + percent_encoded(id) + "/executions/" + percent_encoded(execution));
    if (answer.ok) return {id, kOk, {}};
    if (answer.error.exit_code != kNotFound) return {{}, fail(answer.error), {}};
  }
  std::cerr << "millrace: no machine has execution " << execution << '\n';
  return {{}, kNotFound, {}};
}

}  // namespace millrace::cli
