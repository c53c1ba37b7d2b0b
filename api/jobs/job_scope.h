#pragma once
#include <vector>

#include "api/admission/auth.h"
#include "schemas/access.h"
#include "schemas/jobs/job.h"
#include "schemas/jobs/job_scope.h"

// jobs:read and jobs:write cover the states of all jobs. The contents of a job and its repetition also need
// the scope of its kind: its name, request and result, the messages of its error and the data of its events.
namespace millrace::api {

using schemas::required_scope;
// kForbidden names the missing scope.
base::Status check_scope(const Principal& principal, schemas::Kind kind);
// The kinds whose scope the key lacks.
std::vector<schemas::Kind> hidden_kinds(const Principal& principal);
// The job without its contents if the key lacks the scope of its kind.
schemas::JobView shown_to(const Principal& principal, schemas::JobView job);

}  // namespace millrace::api
