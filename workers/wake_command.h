#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "machines/driver.h"
#include "platform/process/spawner.h"

namespace millrace::workers {

base::Error wake_failed(std::string message);  // kMachineWakeFailed

// A wake command of the operator's, on the gateway's host: no shell; `argv[0]` is an absolute path; it is
// told MILLRACE_MACHINE_ID and MILLRACE_MACHINE_NAME and keeps PATH and HOME of the gateway. Blocks until it
// has exited with 0 (true), or it is told to stop (false). kMachineWakeFailed: it ended otherwise, with the
// last line that it wrote, or not before `deadline`. What it left running in its process group is killed. It
// dies with this process.
base::Result<bool> run_wake_command(process::Spawner& spawner, const schemas::Machine& machine,
                                    const std::vector<std::string>& argv,
                                    std::chrono::steady_clock::time_point deadline,
                                    const machines::StopSwitch& stop);

}  // namespace millrace::workers
