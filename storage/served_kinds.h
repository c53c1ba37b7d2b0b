#pragma once
#include <vector>

#include "schemas/job.h"
#include "storage/store.h"

namespace millrace::storage {

// The kinds for which some worker starts jobs: its last heartbeat is at most kWorkerAlive old, it has slots
// for them, and it is not draining. Blocks.
base::Result<std::vector<schemas::Kind>> served_kinds(Store& store);

}  // namespace millrace::storage
