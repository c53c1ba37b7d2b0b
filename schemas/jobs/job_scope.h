#pragma once
#include "schemas/access.h"
#include "schemas/jobs/job.h"

// jobs:read and jobs:write cover the states of all jobs. The contents of a job and its repetition also need
// the scope of its kind: its name, request and result, the messages of its error and the data of its events.
namespace millrace::schemas {

Scope required_scope(Kind kind);
// The job without its contents if the scope of its kind is not among `scopes`.
JobView shown_with(ScopeSet scopes, JobView job);

}  // namespace millrace::schemas
