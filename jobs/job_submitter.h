#pragma once
#include "platform/base/clock.h"
#include "storage/jobs/job_intake.h"

namespace millrace::jobs {

// Creates every job that a client submits or retries. Thread-safe, never blocks; `done` runs on the
// completion thread after the commit.
class JobSubmitter {
 public:
  JobSubmitter(storage::Store& store, const base::Clock& clock) : intake_(store), clock_(clock) {}
  // Creates the id for a submission. The caller can register a waiter for it before it calls `submit`
  // (docs/design/delivery.md §2 rule 12).
  schemas::JobId new_id(schemas::Kind kind) const;
  // Fills in the defaults of the kind (rerun, deadline_after) and the id of the machine operation that wakes
  // the machine.
  void submit(storage::Submission submission, storage::Callback<storage::Submitted> done);
  // storage::JobIntake::retry, with a new id and the deadline of the kind (docs/design/delivery.md §2 rule
  // 8).
  void retry(storage::Retry retry, storage::Callback<storage::Submitted> done);

 private:
  storage::JobIntake intake_;
  const base::Clock& clock_;
};

}  // namespace millrace::jobs
