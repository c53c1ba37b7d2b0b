#pragma once
#include <chrono>
#include <cstdint>

#include "schemas/jobs/job.h"
#include "storage/jobs/job_outcomes.h"

// The numeric rules of a job's lifecycle, in one place.
namespace millrace::jobs {

// One row per kind.
struct KindPolicy {
  schemas::Kind kind;
  int attempts_max;  // attempts that may fail with transient errors
  schemas::Rerun rerun;
  std::chrono::milliseconds deadline;  // not started by then: expired
};
const KindPolicy& policy(schemas::Kind kind);

inline constexpr int kCrashesMax =
    3;  // crashes of the job's child process: poison_job (docs/design/delivery.md §2 rule 9)
inline constexpr int kLossesMax = 20;  // lost attempts: worker_lost

// The lease arithmetic. With a heartbeat every 5 s and a lease of 20 s, three heartbeats may be missed. When
// less than 5 s of its lease may be left, a worker starts nothing and kills its run (rule 2). The lease
// counts from the claim in the store, or from just before the last successful heartbeat was sent. Therefore a
// worker that takes up to 5 s between the check and the start is still inside its lease.
struct LeasePolicy {
  std::chrono::milliseconds heartbeat{5'000};
  std::chrono::milliseconds lease{20'000};
  std::chrono::milliseconds start_margin{5'000};
  std::chrono::milliseconds usable() const { return lease - start_margin; }
};

// Exponential backoff with full jitter: uniform in [0, min(cap, base × 2^tries)], but at least the upstream's
// `retry_after`. `random` is uniform in [0, 1).
std::chrono::milliseconds retry_delay(int tries, std::chrono::milliseconds retry_after, double random);

// True: a limit of the gateway caused the error (disk, descriptors, queues, a target that is backed off). A
// retry may succeed soon.
bool is_local_limit(const base::Error& error);
// The retry class of an error for a job. It is base::retry_class, with one exception: if the operator's
// account has no credit left, the job waits until its deadline, as for a rate limit.
base::RetryClass job_retry_class(const base::Error& error);

// The retry plan after an attempt that ended with `error`, by its job_retry_class. `attempt` counts from 1.
storage::RetryPlan retry_plan(const KindPolicy& policy, int attempt, const base::Error& error, double random);
// The same for an attempt whose child process died; `crashes`: the number of earlier crashes.
storage::RetryPlan crash_plan(int crashes, const base::Error& error, double random);

}  // namespace millrace::jobs
