#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "platform/base/ids.h"
#include "platform/base/result.h"
#include "schemas/machines/machine.h"

// How a machine gets where it is wanted: pure. Its acts are jobs of kind machine; their specs and results.
namespace millrace::schemas {

enum class MachineAct : std::uint8_t { kWake, kSleep, kReboot, kDestroy, kOpenSsh };
std::string_view name(MachineAct act);  // "wake", "sleep", "reboot", "destroy", "open_ssh"

// What is to be done next for a machine of which no act is under way; nullopt: it is where it is wanted. A
// failed machine is left alone until it is wanted again, unless it is to be destroyed.
std::optional<MachineAct> next_act(MachineState desired, MachinePhase phase);
// The phase while the act is under way, and once it has been done. kOpenSsh leaves it as it is.
MachinePhase phase_during(MachineAct act, MachinePhase now);
MachinePhase phase_after(MachineAct act, MachinePhase now);
// True if what waits for the machine may begin.
bool is_awake(MachineState desired, MachinePhase phase);

// The spec of a job of kind machine.
struct ActSpec {
  base::Uuid machine;
  MachineAct act = MachineAct::kWake;
};
std::string to_json(const ActSpec& spec);
base::Result<ActSpec> act_spec_from_json(std::string_view json);

// What a successful act has found: its job's result.
struct ActResult {
  MachineFacts facts;              // empty: as before
  std::optional<SshEndpoint> ssh;  // of kOpenSsh
};
std::string to_json(const ActResult& result);
base::Result<ActResult> act_result_from_json(std::string_view json);

}  // namespace millrace::schemas
