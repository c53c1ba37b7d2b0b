#include "api/jobs/job_scope.h"

#include <string>

namespace millrace::api {

schemas::Scope required_scope(schemas::Kind kind) {
  switch (kind) {
    case schemas::Kind::kOcr:
      return schemas::Scope::kOcr;
    case schemas::Kind::kExec:
      return schemas::Scope::kExecRead;
    case schemas::Kind::kMachine:
      return schemas::Scope::kMachinesWrite;
    case schemas::Kind::kChat:
      return schemas::Scope::kChat;
    case schemas::Kind::kStt:
      return schemas::Scope::kAudio;
  }
  return schemas::Scope::kAdmin;
}

base::Status check_scope(const Principal& principal, schemas::Kind kind) {
  const schemas::Scope scope = required_scope(kind);
  if (principal.scopes.has(scope)) return {};
  return scope_error(principal, scope);
}

std::vector<schemas::Kind> hidden_kinds(const Principal& principal) {
  std::vector<schemas::Kind> out;
  for (const schemas::Kind kind : schemas::kKinds) {
    if (!principal.scopes.has(required_scope(kind))) out.push_back(kind);
  }
  return out;
}

schemas::JobView shown_to(const Principal& principal, schemas::JobView job) {
  const schemas::Scope scope = required_scope(job.id.kind);
  if (principal.scopes.has(scope)) return job;
  job.name.clear();
  job.metadata.clear();
  if (job.error) {
    job.error->message =
        "The message is shown to keys with the scope '" + std::string(schemas::name(scope)) + "'";
    job.error->param.clear();
  }
  return job;
}

}  // namespace millrace::api
