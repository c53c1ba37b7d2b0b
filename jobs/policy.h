#pragma once
#include <chrono>
#include <cstdint>

#include "schemas/jobs/job.h"
#include "storage/jobs/job_outcomes.h"

// The rules of a job's life that are numbers, in one place.
namespace millrace::jobs {

// One line per kind.
struct KindPolicy {
  schemas::Kind kind;
  int attempts_max;  // tries that failed for a transient reason
  schemas::Rerun rerun;
  std::chrono::milliseconds deadline;  // not started by then: expired
};
const KindPolicy& policy(schemas::Kind kind);

inline constexpr int kCrashesMax =
    3;  // deaths of the job's own child: poison_job (docs/design/delivery.md §2 rule 9)
inline constexpr int kLossesMax = 20;  // lost workers: worker_lost

// The lease arithmetic. A heartbeat every 5 s and a lease of 20 s leave three missed beats; a worker starts
// nothing, and kills what it began, once less than 5 s of its lease may be left, counted from the moment of
// its claim in the store, or from before it sent its last good heartbeat (rule 2): a worker that is slow by
// up to 5 s between the check and the start is still inside its lease.
struct LeasePolicy {
  std::chrono::milliseconds heartbeat{5'000};
  std::chrono::milliseconds lease{20'000};
  std::chrono::milliseconds start_margin{5'000};
  std::chrono::milliseconds usable() const { return lease - start_margin; }
};

// Exponential with full jitter: uniform in [0, min(cap, base × 2^tries)]; `retry_after` of the upstream is a
// floor. `random` is uniform in [0, 1).
std::chrono::milliseconds retry_delay(int tries, std::chrono::milliseconds retry_after, double random);

// It met a bound of ours (disk, descriptors, queues, a target left alone): the same may pass in a moment.
bool is_ours(const base::Error& error);
// What a job makes of an error: its base::retry_class; but that the operator's account has nothing left is
// waited for until the job's deadline, as a rate limit is.
base::RetryClass job_retry_class(const base::Error& error);

// What an attempt that ended with `error` may cost (job_retry_class → plan). `attempt` counts from 1.
storage::RetryPlan retry_plan(const KindPolicy& policy, int attempt, const base::Error& error, double random);
// The same for an attempt whose own child died; `crashes` before this one.
storage::RetryPlan crash_plan(int crashes, const base::Error& error, double random);

}  // namespace millrace::jobs
