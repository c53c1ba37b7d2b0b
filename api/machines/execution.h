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

// An execution as the store has it: a job of kind exec, what it was made from and what it has come to.
struct Execution {
  schemas::JobView job;
  schemas::ExecutionSpec spec;
  std::optional<schemas::ExecutionResult> result;  // of one that ended without any: what is kept of it
  schemas::ArtifactNames artifacts;

  std::string json() const { return schemas::execution_json(job, spec, result, artifacts); }
};

// kInternal (and logged): what is stored cannot be read. Blocks: pool.
base::Result<Execution> execution_of(storage::Store& store, storage::JobRecord record);
// kNotFound: no such job, or another tenant's. Blocks: pool.
base::Result<Execution> find_execution(storage::Store& store, const std::string& tenant,
                                       const schemas::JobId& job);

// What the path names; nullopt: `call` was answered 404.
std::optional<schemas::JobId> path_execution(Call& call);
// The execution that the path names, of the machine that it names; nullopt: `call` was answered. Blocks:
// pool.
std::optional<Execution> path_execution_found(Context& context, Call& call);

// 200 with the execution.
front::Reply execution_reply(const Execution& execution);

// Its events as docs/design/http-contract.md §1 has them: lifecycle, stdout or stderr; without output up to
// `run`. `context` outlives what is returned.
ShowEvent show_execution_events(Context& context, std::string tenant, const schemas::JobId& job,
                                std::int64_t run);

// GET /v1/jobs/{id}/result of such a job: 202 while it is pending unless `partial`, else 200 with the
// execution, however it ended. Blocks: pool.
void send_execution_result(Context& context, Call& call, const schemas::JobId& job, bool partial);

}  // namespace millrace::api
