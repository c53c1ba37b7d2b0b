#include "jobs/control.h"

#include <utility>

#include "jobs/policy.h"

namespace millrace::jobs {

void Control::cancel(std::string tenant, schemas::JobId job, storage::Done<schemas::JobView> done,
                     std::optional<storage::IdempotencyKey> key) {
  intake_.cancel(std::move(tenant), job, std::move(done), std::move(key));
}

void Control::forget(std::string tenant, schemas::JobId job, storage::Done<bool> done,
                     std::optional<storage::IdempotencyKey> key) {
  intake_.forget(std::move(tenant), job, std::move(done), std::move(key));
}

void Control::retry(std::string tenant, schemas::JobId job, std::string traceparent,
                    storage::Done<storage::Submitted> done) {
  const schemas::JobId fresh{job.kind, base::Uuid::make(clock_.wall())};
  intake_.retry(std::move(tenant), job, fresh, std::move(traceparent), policy(job.kind).deadline,
                std::move(done));
}

}  // namespace millrace::jobs
