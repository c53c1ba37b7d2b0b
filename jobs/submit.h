#pragma once
#include "platform/base/clock.h"
#include "storage/jobs/job_intake.h"

namespace millrace::jobs {

// The only way in for jobs. Thread-safe, never blocks; `done` runs on the completion thread after the commit.
class Submit {
 public:
  Submit(storage::Store& store, const base::Clock& clock) : intake_(store), clock_(clock) {}
  // For the submission, so that a waiter can be registered before the submit (docs/design/delivery.md §2 rule
  // 12).
  schemas::JobId new_id(schemas::Kind kind) const;
  // Fills in what the submission leaves to its kind (rerun, deadline_after) and the id of the wake.
  void submit(storage::Submission submission, storage::Callback<storage::Submitted> done);

 private:
  storage::JobIntake intake_;
  const base::Clock& clock_;
};

}  // namespace millrace::jobs
