#pragma once
#include <optional>
#include <string>

#include "api/call.h"
#include "api/context.h"
#include "api/jobs/event_stream.h"
#include "platform/base/ids.h"
#include "schemas/machines/execution.h"
#include "storage/jobs/job_queries.h"

namespace millrace::api {

// An execution from the store: a job of kind exec with its spec and result.
struct Execution {
  schemas::JobView job;
  schemas::ExecutionSpec spec;
  std::optional<schemas::ExecutionResult>
      result;  // if the job ended without a result: what the store still has
  schemas::ArtifactNames artifacts;

  std::string json() const { return schemas::execution_json(job, spec, result, artifacts); }
};

// kInternal (and logged): the stored data cannot be read. Blocks; runs on the pool.
base::Result<Execution> execution_of(storage::Store& store, storage::JobRecord record);
// kNotFound: no such job, or it belongs to another tenant. Blocks; runs on the pool.
base::Result<Execution> find_execution(storage::Store& store, const std::string& tenant,
                                       const schemas::JobId& job);

// The execution id in the path; nullopt: 404 was sent.
std::optional<schemas::JobId> path_execution(Call& call);
// The execution in the path, if it belongs to the machine in the path; nullopt: an error was sent. Blocks;
// runs on the pool.
std::optional<Execution> find_path_execution(Context& context, Call& call);

// A submission of the execution, without an Idempotency-Key. Its spec and its input are staged. Blocks; runs
// on the pool.
base::Result<storage::Submission> execution_submission(Context& context, const Call& call,
                                                       const schemas::ExecutionRequest& request);
// Workers on this host run the commands of sandboxes. kOverloaded if this process knows that there are none.
base::Status may_run(const Context& context, const schemas::Machine& machine);

// 200 with the execution.
front::Reply execution_reply(const Execution& execution);

// Converts events to the format of docs/design/http-contract.md §1: lifecycle, stdout or stderr. Output up to
// version `run` is left out. `context` outlives the returned function.
ShowEvent show_execution_events(Context& context, std::string tenant, const schemas::JobId& job,
                                std::int64_t run);

// GET /v1/jobs/{id}/result of an execution: 202 while it is pending unless `partial`, else 200 with the
// execution, whether or not it succeeded. Blocks; runs on the pool.
void send_execution_result(Context& context, Call& call, const schemas::JobId& job, bool partial);

// 200 with the execution and its output as the member `output`; 202 while it is pending. Blocks; runs on the
// pool or on a thread of its own.
void send_execution_with_output(Context& context, Call& call, const schemas::JobId& job);

}  // namespace millrace::api
