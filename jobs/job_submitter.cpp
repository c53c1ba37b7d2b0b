#include "jobs/job_submitter.h"

#include <utility>

#include "jobs/policy.h"

namespace millrace::jobs {

schemas::JobId JobSubmitter::new_id(schemas::Kind kind) const {
  return {kind, base::Uuid::make(clock_.wall())};
}

void JobSubmitter::submit(storage::Submission submission, storage::Callback<storage::Submitted> done) {
  const KindPolicy& kind = policy(submission.id.kind);
  if (!submission.rerun) submission.rerun = kind.rerun;
  if (!submission.deadline_after) submission.deadline_after = kind.deadline;
  if (submission.machine && submission.wake.uuid.is_nil()) submission.wake = new_id(schemas::Kind::kMachine);
  intake_.submit(std::move(submission), std::move(done));
}

void JobSubmitter::retry(storage::Retry retry, storage::Callback<storage::Submitted> done) {
  retry.new_job = new_id(retry.old.kind);
  retry.deadline_after = policy(retry.old.kind).deadline;
  intake_.retry(std::move(retry), std::move(done));
}

}  // namespace millrace::jobs
