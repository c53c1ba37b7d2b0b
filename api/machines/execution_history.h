#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "schemas/jobs/job.h"
#include "schemas/machines/execution.h"
#include "storage/store.h"

// What a command has written, as its job's events hold it. Everything blocks: pool.
namespace millrace::api {

// The version of the event with which its last run began: what was written before it is of a run whose worker
// was lost, and not its output. 0: it has run once at most.
base::Result<std::int64_t> last_run(storage::Store& store, const schemas::JobView& job);

// The output of its last run, in order. kInternal: an event is not what was written.
using TakeOutput = std::function<void(schemas::OutputStream stream, std::string_view bytes)>;
base::Status each_output(storage::Store& store, const schemas::JobView& job, const TakeOutput& take);

// The sizes of what is kept: all that is known of a command that left no result, as one whose worker was
// lost.
base::Result<schemas::ExecutionResult> kept_sizes(storage::Store& store, const schemas::JobView& job);

}  // namespace millrace::api
