#pragma once
#include <vector>

#include "schemas/job.h"
#include "storage/store.h"

namespace millrace::storage {

// The kinds of which some worker begins jobs: it was heard of within kWorkerAlive, has slots for them and
// does not drain. Blocks.
base::Result<std::vector<schemas::Kind>> served_kinds(Store& store);

}  // namespace millrace::storage
