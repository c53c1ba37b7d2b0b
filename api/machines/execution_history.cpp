#include "api/machines/execution_history.h"

#include <optional>

#include "storage/jobs/job_queries.h"

namespace millrace::api {
namespace {

using schemas::JobEvent;
using schemas::OutputStream;

constexpr int kHistoryEventsPerRead = 100;

// Passes the job's events after version `after` to `take`, page by page, until `take` returns an error.
base::Status each_event(storage::Store& store, const schemas::JobView& job, std::int64_t after,
                        const std::function<base::Status(const JobEvent&)>& take) {
  storage::JobQueries queries(store);
  while (true) {
    const auto events = queries.events(job.tenant, job.id, after, kHistoryEventsPerRead);
    if (!events) return events.error();
    for (const JobEvent& event : *events) {
      if (auto taken = take(event); !taken) return taken;
      after = event.version;
    }
    if (events->size() < std::size_t{kHistoryEventsPerRead}) return {};
  }
}

std::optional<OutputStream> stream_of(const JobEvent& event) {
  for (const OutputStream stream : {OutputStream::kStdout, OutputStream::kStderr}) {
    if (event.type == name(stream)) return stream;
  }
  return std::nullopt;
}

}  // namespace

base::Result<std::int64_t> last_run(storage::Store& store, const schemas::JobView& job) {
  std::int64_t run = 0;
  if (job.attempt <= 1) return run;
  const auto read = each_event(store, job, 0, [&run](const JobEvent& event) -> base::Status {
    if (event.type == "running") run = event.version;
    return {};
  });
  if (!read) return read.error();
  return run;
}

base::Status each_output(storage::Store& store, const schemas::JobView& job, const TakeOutput& take) {
  const auto run = last_run(store, job);
  if (!run) return run.error();
  return each_event(store, job, *run, [&take](const JobEvent& event) -> base::Status {
    const auto stream = stream_of(event);
    if (!stream) return {};
    const auto bytes = schemas::output_bytes(event.data);
    if (!bytes) return bytes.error();
    take(*stream, *bytes);
    return {};
  });
}

base::Result<schemas::ExecutionResult> kept_sizes(storage::Store& store, const schemas::JobView& job) {
  schemas::ExecutionResult out;
  const auto read = each_output(store, job, [&out](OutputStream stream, std::string_view bytes) {
    (stream == OutputStream::kStdout ? out.stdout_bytes : out.stderr_bytes) +=
        static_cast<std::int64_t>(bytes.size());
  });
  if (!read) return read.error();
  return out;
}

}  // namespace millrace::api
