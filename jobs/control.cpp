#include "jobs/control.h"

#include <utility>

#include "jobs/policy.h"

namespace millrace::jobs {

void Control::cancel(storage::Caller by, schemas::JobId job, storage::Callback<schemas::JobView> done) {
  intake_.cancel(std::move(by), job, std::move(done));
}

void Control::forget(storage::Caller by, schemas::JobId job, storage::Callback<bool> done) {
  intake_.forget(std::move(by), job, std::move(done));
}

void Control::remove(schemas::JobId job, storage::IdempotentCall call,
                     storage::ReplyBuilder<storage::JobRecord> reply,
                     storage::Callback<storage::CallReply> done) {
  intake_.remove(job, std::move(call), std::move(reply), std::move(done));
}

void Control::retry(std::string tenant, schemas::JobId job, std::string traceparent,
                    storage::Callback<storage::Submitted> done) {
  const schemas::JobId fresh{job.kind, base::Uuid::make(clock_.wall())};
  intake_.retry(std::move(tenant), job, fresh, std::move(traceparent), policy(job.kind).deadline,
                std::move(done));
}

}  // namespace millrace::jobs
