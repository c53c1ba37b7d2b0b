#pragma once
#include <string>

#include "machines/driver.h"
#include "platform/base/result.h"
#include "storage/job_claims.h"

namespace millrace::workers {

// The command of a job of kind exec: its spec, its input, its environment out of the seal, its machine's row.
// Blocks on the store. kMachineNotFound, kHostAgentFailed: the job can never run here; kOverloaded: try
// again.
base::Result<machines::CommandOrder> command_order(storage::Store& store, const storage::Claimed& job,
                                                   const std::string& secret_key);

}  // namespace millrace::workers
