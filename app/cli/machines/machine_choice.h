#pragma once
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/client.h"

namespace millrace::cli {

// Which machine is meant; with another exit code than kOk there is none, and why has been said on stderr.
struct FoundMachine {
  std::string id;
  int exit_code = kOk;
  std::string problem;  // of choose_machine: what is to be said
};

// Every machine that the key may see, page by page. nullopt: all of them are in `machines`, an array.
std::optional<ClientError> list_machines(Client& client, nlohmann::json& machines);

// Pure: the one of `machines` with this id, or this name if no other has it; empty: `local`, or the only one.
FoundMachine choose_machine(const nlohmann::json& machines, const std::string& wanted);

// The same of a gateway; an id is not looked up: the gateway knows it or says so.
FoundMachine find_machine(Client& client, const std::string& wanted);

// The machine of an execution: the one that is `wanted`; if none is, the one that has it, by asking for it at
// each, `local` first.
FoundMachine find_execution(Client& client, const std::string& wanted, const std::string& execution);

}  // namespace millrace::cli
