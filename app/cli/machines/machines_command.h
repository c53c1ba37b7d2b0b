#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/client.h"

// Machines as text for people.
namespace millrace::cli {

// A row of `machines ls` and the header row, without a newline.
std::string machine_row(const nlohmann::json& machine);
std::string machine_header();

// One line per field, including the details of its status. Every line ends with a newline.
std::string machine_text(const nlohmann::json& machine);

class Interrupt;

inline constexpr const char* kGone = "destroyed";  // the phase of a machine that no longer exists

// Polls the gateway until the machine's phase is `phase` (`running` or `sleeping`), or for `destroyed` until
// the machine no longer exists. `machine` holds its last known state and is updated. Returns an ExitCode;
// kFailed, with the reason on stderr: the operation failed, another client requested a different state, or
// `limit` passed. Retries if the gateway is temporarily unreachable.
int wait_for_phase(Client& client, Interrupt& interrupt, const std::string& phase,
                   std::chrono::milliseconds limit, nlohmann::json& machine);

// Properties that `machines create` sets and `machines change` changes. Absent: the default, or unchanged.
struct MachineArguments {
  std::optional<std::string> name;
  std::optional<double> vcpu;
  std::optional<int> memory_mib, storage_gib;
  std::optional<std::string> autosleep;
  std::optional<std::string> host{};  // only of a new machine
};

// Whether a command waits until the machine reaches the requested state. If the machine fails or the time
// runs out: kFailed.
struct MachineWait {
  bool wait = false;
  std::string timeout = "5m";
};

// `millrace machines …`. A machine is given by its id, or by its name if that is unique. Each function prints
// a table row, or JSON with --json, and returns an ExitCode. With several machines, the last error decides
// the exit code.
int machines_ls(ClientOptions options);  // sorted by name
int machines_show(const std::string& machine, ClientOptions options);
// Without --json, prints only the id, and before it waits.
int machines_create(const MachineArguments& arguments, const MachineWait& wait_options,
                    ClientOptions options);
int machines_change(const std::string& machine, const MachineArguments& arguments, ClientOptions options);
int machines_sleep(const std::vector<std::string>& machines, const MachineWait& wait_options,
                   ClientOptions options);
int machines_wake(const std::vector<std::string>& machines, const MachineWait& wait_options,
                  ClientOptions options);
// `force`: running executions are cancelled first.
int machines_reboot(const std::vector<std::string>& machines, bool force, const MachineWait& wait_options,
                    ClientOptions options);
// Destroys machines and their disks. Without `yes` it asks for confirmation on a terminal and fails elsewhere
// (kUsage).
int machines_rm(const std::vector<std::string>& machines, bool yes, const MachineWait& wait_options,
                ClientOptions options);

}  // namespace millrace::cli
