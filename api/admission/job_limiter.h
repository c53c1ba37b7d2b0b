#pragma once
#include <memory>
#include <string>

#include "jobs/waiters.h"
#include "platform/base/result.h"
#include "schemas/jobs/job.h"

namespace millrace::api {

// A semaphore per name: limits how many permits each name holds at once. Thread-safe; permits may outlive it.
class KeyedSemaphore {
 public:
  // One unit of the semaphore; released when the last copy is destroyed.
  using Permit = std::shared_ptr<const void>;

  explicit KeyedSemaphore(int most);

  int most() const { return most_; }
  // Null: `name` has reached its limit.
  Permit take(const std::string& name);

 private:
  struct State;
  const int most_;
  const std::shared_ptr<State> state_;
};

// Limits the unfinished jobs of each API key (limits.concurrent_jobs). It counts the jobs that this process
// has accepted since it started. Thread-safe; permits may outlive it.
class JobLimiter {
 public:
  // The right to create one job; released when the last copy is destroyed.
  using Permit = KeyedSemaphore::Permit;

  // `per_key` 0: no limit. `waiters` outlives this.
  JobLimiter(int per_key, jobs::Waiters& waiters);
  ~JobLimiter();
  JobLimiter(const JobLimiter&) = delete;
  JobLimiter& operator=(const JobLimiter&) = delete;

  bool limited() const { return taken_.most() > 0; }
  // Null: the key has reached its limit. REQUIRES: limited().
  Permit take(const std::string& key_id);
  // `job` was created with `permit` (null: not limited) and holds it until it is over.
  void keep(Permit permit, const schemas::JobId& job);
  // The error for a request that gets no permit.
  base::Error refusal() const;

 private:
  struct State;
  KeyedSemaphore taken_;  // by key id
  jobs::Waiters& waiters_;
  const std::shared_ptr<State> state_;
};

}  // namespace millrace::api
