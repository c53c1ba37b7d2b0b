#pragma once
#include <string>

#include "platform/base/clock.h"
#include "storage/jobs/job_intake.h"

namespace millrace::jobs {

// The operations of an owner on a job. Thread-safe, never blocks; `done` runs on the completion thread.
class Control {
 public:
  Control(storage::Store& store, const base::Clock& clock) : intake_(store), clock_(clock) {}
  void cancel(storage::Caller by, schemas::JobId job, storage::Callback<schemas::JobView> done);
  // Deletes a job that has ended, which is kNotFound afterwards. kInvalidState: the job has not ended.
  void forget(storage::Caller by, schemas::JobId job, storage::Callback<bool> done);
  // DELETE of an execution: storage::JobIntake::remove.
  void remove(schemas::JobId job, storage::IdempotentCall call,
              storage::ReplyBuilder<storage::JobRecord> reply, storage::Callback<storage::CallReply> done);
  // Always creates a new job (rule 8).
  void retry(std::string tenant, schemas::JobId job, std::string traceparent,
             storage::Callback<storage::Submitted> done);

 private:
  storage::JobIntake intake_;
  const base::Clock& clock_;
};

}  // namespace millrace::jobs
