#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "platform/base/ids.h"
#include "platform/base/result.h"
#include "schemas/machines/machine.h"

// The transitions of a machine to its desired state; pure functions. Also the specs and results of its acts,
// which are jobs of kind machine.
namespace millrace::schemas {

enum class MachineAct : std::uint8_t { kWake, kSleep, kReboot, kDestroy, kOpenSsh };
std::string_view name(MachineAct act);  // "wake", "sleep", "reboot", "destroy", "open_ssh"

// The next act of a machine without a running act; nullopt: it is in its desired state. A failed machine gets
// no act until it is requested again or is to be destroyed.
std::optional<MachineAct> next_act(MachineState desired, MachinePhase phase);
// The phase while the act runs, and after it has succeeded. kOpenSsh does not change it.
MachinePhase phase_during(MachineAct act, MachinePhase now);
MachinePhase phase_after(MachineAct act, MachinePhase now);
// True: jobs that wait for the machine may begin.
bool is_awake(MachineState desired, MachinePhase phase);

// The spec of a job of kind machine.
struct ActSpec {
  base::Uuid machine;
  MachineAct act = MachineAct::kWake;
};
std::string to_json(const ActSpec& spec);
base::Result<ActSpec> act_spec_from_json(std::string_view json);

// The result of a successful act, stored as its job's result.
struct ActResult {
  MachineFacts facts;              // empty: unchanged
  std::optional<SshEndpoint> ssh;  // set by kOpenSsh
};
std::string to_json(const ActResult& result);
base::Result<ActResult> act_result_from_json(std::string_view json);

}  // namespace millrace::schemas
