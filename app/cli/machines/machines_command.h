#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/client.h"

// Machines as a person reads them.
namespace millrace::cli {

// One line of `machines ls`, without its end, and the one above them.
std::string machine_row(const nlohmann::json& machine);
std::string machine_header();

// One line per field, what its status says among them; every line ends.
std::string machine_text(const nlohmann::json& machine);

class Interrupt;

inline constexpr const char* kGone = "destroyed";  // the phase of a machine that is not there any more

// Asks for `machine` (the gateway's last word of it, which is replaced by its newest) until its phase is
// `running` or `sleeping`, as `phase` says, or until it is not there any more for `destroyed`. Returns an
// ExitCode; kFailed, with the reason on stderr: its act failed, somebody wants it otherwise by now, or
// `limit` is over. Rides out a gateway that is gone meanwhile.
int wait_for_phase(Client& client, Interrupt& interrupt, const std::string& phase,
                   std::chrono::milliseconds limit, nlohmann::json& machine);

// What `machines create` gives and `machines change` changes; absent: the default, or as it is.
struct MachineWish {
  std::optional<std::string> name;
  std::optional<double> vcpu;
  std::optional<int> memory_mib, storage_gib;
  std::optional<std::string> autosleep;
};

// Whether a command waits until the machine is where it is wanted: kFailed if it fails or takes longer.
struct MachineWait {
  bool wait = false;
  std::string timeout = "5m";
};

// `millrace machines …`; a machine is named by its id, or by its name if no other has it. Each prints a table
// row, or JSON with --json, and returns an ExitCode; of several machines the last refusal decides it.
int machines_ls(ClientOptions options);  // by name
int machines_show(const std::string& machine, ClientOptions options);
// Prints the id alone, without --json, and before it waits.
int machines_create(const MachineWish& wish, const MachineWait& patience, ClientOptions options);
int machines_change(const std::string& machine, const MachineWish& wish, ClientOptions options);
int machines_sleep(const std::vector<std::string>& machines, const MachineWait& patience,
                   ClientOptions options);
int machines_wake(const std::vector<std::string>& machines, const MachineWait& patience,
                  ClientOptions options);
// `force`: what runs on it is cancelled first.
int machines_reboot(const std::vector<std::string>& machines, bool force, const MachineWait& patience,
                    ClientOptions options);
// Their disks go with them. Without `yes` it asks on a terminal and refuses elsewhere (kUsage).
int machines_rm(const std::vector<std::string>& machines, bool yes, const MachineWait& patience,
                ClientOptions options);

}  // namespace millrace::cli
