#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "schemas/jobs/job.h"
#include "schemas/machines/execution.h"
#include "storage/store.h"

// A command's output, from its job's events. All functions block; they run on the pool.
namespace millrace::api {

// The version of the event that started the last run. Output before it belongs to a run whose worker was
// lost, so it is not part of the result. 0: the command was run at most once.
base::Result<std::int64_t> last_run(storage::Store& store, const schemas::JobView& job);

// The output of the last run, in order. kInternal: a stored event is damaged.
using TakeOutput = std::function<void(schemas::OutputStream stream, std::string_view bytes)>;
base::Status each_output(storage::Store& store, const schemas::JobView& job, const TakeOutput& take);

// The sizes of the stored output. For a command without a result, for example because its worker was lost,
// nothing else is known.
base::Result<schemas::ExecutionResult> kept_sizes(storage::Store& store, const schemas::JobView& job);

}  // namespace millrace::api
