#pragma once
#include <chrono>
#include <optional>

#include "machines/driver.h"
#include "schemas/execution.h"
#include "workers/runner.h"

namespace millrace::workers {

// What a command's end is for its job. `counts`: what it wrote; `stop`: what its run was told last.
Outcome exec_outcome(const machines::CommandEnd& end, schemas::ExecutionResult counts,
                     std::optional<Stop> stop, std::chrono::milliseconds timeout);

}  // namespace millrace::workers
