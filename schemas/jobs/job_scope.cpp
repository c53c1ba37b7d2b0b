#include "schemas/jobs/job_scope.h"

#include <string>

namespace millrace::schemas {

Scope required_scope(Kind kind) {
  switch (kind) {
    case Kind::kOcr:
      return Scope::kOcr;
    case Kind::kExec:
      return Scope::kExecRead;
    case Kind::kMachine:
      return Scope::kMachinesWrite;
    case Kind::kChat:
      return Scope::kChat;
    case Kind::kStt:
      return Scope::kAudio;
  }
  return Scope::kAdmin;
}

JobView shown_with(ScopeSet scopes, JobView job) {
  const Scope scope = required_scope(job.id.kind);
  if (scopes.has(scope)) return job;
  job.name.clear();
  job.metadata.clear();
  if (job.error) {
    job.error->message = "The message is shown to keys with the scope '" + std::string(name(scope)) + "'";
    job.error->param.clear();
  }
  return job;
}

}  // namespace millrace::schemas
