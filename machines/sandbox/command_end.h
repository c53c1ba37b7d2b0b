#pragma once
#include <chrono>
#include <cstddef>
#include <string>

#include "machines/driver.h"
#include "platform/base/result.h"
#include "schemas/machines/machine.h"

// Shared by the two command pumps (sandbox and ssh).
namespace millrace::machines {

// How long we keep reading from the pipes after the jail or the ssh client has exited. Another process may
// have inherited them.
inline constexpr std::chrono::milliseconds kDrainGrace{500};
inline constexpr std::size_t kPumpBufferBytes = std::size_t{128} << 10;  // bytes per read

// Results that the drivers create themselves.

CommandResult end_by(CommandResult::How how, std::string message = {});

// kMachineNotRoutable becomes kNotRoutable; all other codes become kHostFailed.
CommandResult failed_by(const base::Error& error);
CommandResult host_failed(const std::string& reason);
// The client cancelled the command before any of it ran.
CommandResult stopped();

// Returns `end` with a kHostFailed message that is safe to show to the client: `reason` if the machine's
// commands were ended for a reason, else only that the host failed. The original message is moved to
// `detail`.
CommandResult explained(CommandResult end, const std::string& reason = {});

// True if the command may have run, so it may have left artifacts.
bool has_run(const CommandResult& end);

// Returns `end` for a machine in which the kernel has meanwhile killed a process because of the memory limit.
// That process may be the command, the first process of its jail (the command dies with it), or a process of
// another command.
CommandResult killed_for_memory(CommandResult end, const schemas::Machine& machine);

// Messages for the client about a command that could not be started. All drivers use the same text.

// `code` is the errno of execve or of chdir.
std::string execute_failure(int code);
std::string folder_failure(int code);

}  // namespace millrace::machines
