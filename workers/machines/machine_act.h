#pragma once
#include "storage/store.h"
#include "workers/machines/machine_run.h"

namespace millrace::workers {

struct ActDependencies {
  const MachineRunner::Dependencies& dependencies;
  storage::Store& store;
  const machines::CancelToken& stop;
  std::function<bool()> start_allowed;  // checked directly before the act begins
};

// Performs one act and blocks the calling thread until it has ended. Abandoned: a stop was requested, or
// the act may not begin; another worker does it then.
Outcome run_act(const ActDependencies& dependencies, const schemas::ActSpec& spec);

}  // namespace millrace::workers
