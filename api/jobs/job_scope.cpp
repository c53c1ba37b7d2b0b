#include "api/jobs/job_scope.h"

#include <utility>

namespace millrace::api {

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
  return schemas::shown_with(principal.scopes, std::move(job));
}

}  // namespace millrace::api
