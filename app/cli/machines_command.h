#pragma once
#include <optional>
#include <string>
#include <vector>

#include "app/cli/client.h"

namespace millrace::cli {

// What `machines create` gives and `machines change` changes; absent: the default, or as it is.
struct MachineWish {
  std::optional<std::string> name;
  std::optional<double> vcpu;
  std::optional<int> memory_mib, storage_gib;
  std::optional<std::string> autosleep;
};

// Whether a command waits until the machine is where it is wanted: kFailed if it fails or takes longer.
struct MachinePatience {
  bool wait = false;
  std::string timeout = "5m";
};

// `millrace machines …`; a machine is named by its id, or by its name if no other has it. Each prints a table
// row, or JSON with --json, and returns an ExitCode; of several machines the last refusal decides it.
int machines_ls(ClientOptions options);  // by name
int machines_show(const std::string& machine, ClientOptions options);
// Prints the id alone, without --json, and before it waits.
int machines_create(const MachineWish& wish, const MachinePatience& patience, ClientOptions options);
int machines_change(const std::string& machine, const MachineWish& wish, ClientOptions options);
int machines_sleep(const std::vector<std::string>& machines, const MachinePatience& patience,
                   ClientOptions options);
int machines_wake(const std::vector<std::string>& machines, const MachinePatience& patience,
                  ClientOptions options);
// `force`: what runs on it is cancelled first.
int machines_reboot(const std::vector<std::string>& machines, bool force, const MachinePatience& patience,
                    ClientOptions options);
// Their disks go with them. Without `yes` it asks on a terminal and refuses elsewhere (kUsage).
int machines_rm(const std::vector<std::string>& machines, bool yes, const MachinePatience& patience,
                ClientOptions options);

}  // namespace millrace::cli
