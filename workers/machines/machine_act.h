#pragma once
#include "storage/store.h"
#include "workers/machines/machine_runner.h"

namespace millrace::workers {

struct ActDependencies {
  const MachineRunner::Dependencies& dependencies;
  storage::Store& store;
  const machines::CancelToken& stop;
  std::function<bool()> may_go;  // asked directly before it begins
};

// Does one act to its end on the calling thread, which it blocks for as long as that takes. Lost: told to
// stop, or it may not begin; another worker does it then.
Outcome do_act(const ActDependencies& dependencies, const schemas::ActSpec& spec);

}  // namespace millrace::workers
