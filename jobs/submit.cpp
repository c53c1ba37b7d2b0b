#include "jobs/submit.h"

#include <utility>

#include "jobs/policy.h"

namespace millrace::jobs {

schemas::JobId Submit::new_id(schemas::Kind kind) const { return {kind, base::Uuid::make(clock_.wall())}; }

void Submit::submit(Order&& order, storage::Callback<storage::Submitted> done) {
  const KindPolicy& kind = policy(order.id.kind);
  storage::Submission job;
  job.id = order.id;
  job.tenant = std::move(order.tenant);
  job.model = std::move(order.model);
  job.priority = order.priority;
  job.rerun = order.rerun_on_loss ? schemas::Rerun::kAtLeastOnce : kind.rerun;
  job.deadline_after = order.deadline_after.value_or(kind.deadline);
  job.spec = std::move(order.spec);
  job.spec_blob = std::move(order.spec_blob);
  job.input = std::move(order.input);
  job.secret = std::move(order.secret);
  job.lane_key = std::move(order.lane_key);
  job.machine = order.machine;
  job.wake = order.machine && order.wake.uuid.is_nil() ? new_id(schemas::Kind::kMachine) : order.wake;
  job.actor = std::move(order.actor);
  job.traceparent = std::move(order.traceparent);
  job.idempotency = std::move(order.idempotency);
  job.replay_only = order.replay_only;
  intake_.submit(std::move(job), std::move(done));
}

}  // namespace millrace::jobs
