#pragma once
#include <chrono>
#include <cstddef>
#include <string>

#include "machines/driver.h"
#include "platform/base/result.h"
#include "schemas/machines/machine.h"

// What both pumps of a command's output hold to.
namespace millrace::machines {

// How long pipes may stay open when the jail or the ssh client is gone: another process can have been handed
// them.
inline constexpr std::chrono::milliseconds kDrainGrace{500};
inline constexpr std::size_t kPumpBufferBytes = std::size_t{128} << 10;  // one read

// Ends that drivers make themselves.

CommandEnd end_by(CommandEnd::How how, std::string message = {});

// kMachineNotRoutable: kNotRoutable; else kHostFailed.
CommandEnd failed_by(const base::Error& error);
CommandEnd host_failed(const std::string& reason);
// By its client, before anything of it ran.
CommandEnd stopped();

// The same end with what its client may know of a kHostFailed: why the machine's commands were ended
// (`reason`), else no more than that the host failed. The rest becomes its detail.
CommandEnd explained(CommandEnd end, const std::string& reason = {});

// True if something of the command may have run, so that there may be artifacts.
bool has_run(const CommandEnd& end);

// The same end, of a machine in which the kernel has killed for memory meanwhile: it may have been the
// command, or the first process of its jail, which takes it along, or something of another command.
CommandEnd killed_for_memory(CommandEnd end, const schemas::Machine& machine);

// Why a command was not begun, for its client: the same words whichever machine it was for.

// `code`: the errno of execve, of chdir.
std::string execute_failure(int code);
std::string folder_failure(int code);

}  // namespace millrace::machines
