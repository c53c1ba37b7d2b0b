#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "platform/base/clock.h"
#include "platform/base/ids.h"

// Machines (contract.md §2, "Machines").
namespace millrace::schemas {

enum class MachineDriver : std::uint8_t { kSandbox = 0, kSsh = 1 };
std::string_view name(MachineDriver driver);  // "sandbox", "ssh"

enum class MachineState : std::uint8_t { kRunning = 0, kSleeping = 1, kDestroyed = 2 };  // desired
std::string_view name(MachineState state);

// A machine as its owner sees it.
struct Machine {
  base::Uuid id;
  std::string tenant;
  std::string name;
  MachineDriver driver = MachineDriver::kSandbox;
  double vcpu = 1;
  int memory_mib = 1024;
  int storage_gib = 4;
  std::int64_t autosleep_seconds = 0;  // 0: never
  MachineState desired = MachineState::kRunning;
  std::int64_t number = 0;  // of the machine on this host: its uid is 210000 + number
  base::WallTime created_at{};
};

// "dm-" and a lower-case UUID (gateway-api.md); nullopt: not of that form.
std::optional<base::Uuid> machine_id_from(std::string_view text);
std::string machine_id(const base::Uuid& id);

// The machine resource as JSON text; `with_status`: also its `status` object.
std::string machine_json(const Machine& machine, bool with_status);

}  // namespace millrace::schemas
