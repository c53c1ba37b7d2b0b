#pragma once
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/client.h"

namespace millrace::cli {

// The machine that a command is for. If `exit_code` is not kOk there is none, and the reason was printed to
// stderr.
struct FoundMachine {
  std::string id;
  int exit_code = kOk;
  std::string problem;  // set by choose_machine: the error text
};

// Reads all machines that the key may see, page by page, into the array `machines`. nullopt: success.
std::optional<ClientError> list_machines(Client& client, nlohmann::json& machines);

// Chooses from `machines`: the machine with this id, or with this name if it is unique. Empty `name_or_id`:
// `local`, or the only machine. Pure.
FoundMachine choose_machine(const nlohmann::json& machines, const std::string& name_or_id);

// The same with the gateway's machines. An id is not looked up; the gateway rejects unknown ids.
FoundMachine find_machine(Client& client, const std::string& name_or_id);

// The machine of an execution: `name_or_id`, if given. Otherwise asks each machine for the execution, `local`
// first.
FoundMachine find_execution(Client& client, const std::string& name_or_id, const std::string& execution);

}  // namespace millrace::cli
