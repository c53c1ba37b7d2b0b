#pragma once
#include <optional>
#include <string>

#include "platform/base/clock.h"
#include "storage/job_intake.h"

namespace millrace::jobs {

// What an owner may do to a job. Thread-safe, never blocks; `done` on the announce thread.
class Control {
 public:
  Control(storage::Store& store, const base::Clock& clock) : intake_(store), clock_(clock) {}
  void cancel(std::string tenant, schemas::JobId job, storage::Done<schemas::JobView> done,
              std::optional<storage::IdempotencyKey> key = {});
  // Only a job that is over: kInvalidState otherwise. Then it is kNotFound. False: the key was taken before,
  // say by the call that cancelled the job, and nothing was done.
  void forget(std::string tenant, schemas::JobId job, storage::Done<bool> done,
              std::optional<storage::IdempotencyKey> key = {});
  // Always a new job (rule 8).
  void retry(std::string tenant, schemas::JobId job, std::string traceparent,
             storage::Done<storage::Submitted> done);

 private:
  storage::JobIntake intake_;
  const base::Clock& clock_;
};

}  // namespace millrace::jobs
