#pragma once
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "platform/base/clock.h"
#include "platform/base/log.h"
#include "platform/base/pool.h"
#include "platform/base/result.h"
#include "schemas/jobs/job.h"
#include "storage/jobs/job_claims.h"
#include "storage/jobs/job_outcomes.h"
#include "workers/jobs/worker_metrics.h"
#include "workers/weak_loop.h"

// The interface between an attempt's lifecycle and the work of a kind. A new kind is a Runner.
namespace millrace::workers {

// How an attempt ended, as its runner reports it; workers/jobs/attempt turns it into exactly one state change
// in the store.
struct Succeeded {
  storage::Payload result;
};
struct Split {
  std::vector<storage::ChildSpec> children;
  int progress_total = 0;
};
// Retryable. The error's class decides whether the attempt counts. `crash`: a child process that the runner
// supervises died. `result`: stored if this was the last attempt, ≤ storage::kInlineMax.
struct Retry {
  base::Error error;
  bool crash = false;
  std::string result = {};
};
struct Fail {
  base::Error error;
  storage::Payload result;
};
// The time-out of the kind has passed: the job becomes expired.
struct Expire {
  base::Error error;
  storage::Payload result;
};
// The store refused a write of the attempt, or the runner cannot continue; another worker takes the job.
struct Abandoned {};
// The run was stopped on request.
struct Cancelled {
  storage::Payload result;
};
using Outcome = std::variant<Succeeded, Split, Retry, Fail, Expire, Abandoned, Cancelled>;

// The delay before a run repeats a step that met a limit of ours.
inline constexpr std::chrono::milliseconds kStepRetryDelay{250};

// How long a run repeats the reading of its input while a limit of ours prevents it, such as an object store
// that does not answer.
inline constexpr std::chrono::seconds kInputWaitMax{5};

// For one run. Afterwards the run ends with Retry: the job returns to the queue without losing an attempt,
// and its slot is free for other jobs.
class InputRetries {
 public:
  // Call it after each failure. False: kInputWaitMax have passed since the first one.
  bool may_retry() {
    const auto now = std::chrono::steady_clock::now();
    if (!first_failure_) first_failure_ = now;
    return now - *first_failure_ < kInputWaitMax;
  }

 private:
  std::optional<std::chrono::steady_clock::time_point> first_failure_;
};

// Why a run is stopped.
enum class StopReason {
  kCancel,  // its owner cancelled the job
  kLost,    // the lease is lost or about to expire: another attempt may begin
  kDrain,   // the worker shuts down; a result that is nearly ready may still be stored
};

// What an attempt offers to its run. Loop thread only, except `weak_loop`, `pool`, `store` and `metrics`,
// which are thread-safe. Valid until the run has called `ended`.
class AttemptContext {
 public:
  // Called with the store's answer. False: the lease is lost, the run was stopped with
  // kLost, or the store refused the write permanently. The run then ends with Abandoned, except after
  // write_artifacts.
  using LeaseCallback = std::function<void(bool lease_held)>;

  virtual ~AttemptContext() = default;
  virtual storage::Store& store() = 0;
  virtual base::Pool& pool() = 0;
  virtual net::Loop& loop() = 0;
  virtual const WeakLoop& weak_loop() const = 0;
  virtual const WorkerMetrics& metrics() const = 0;
  // Rule 2: true while enough of the lease is left to begin new work. Call it directly before that work.
  virtual bool may_start() const = 0;
  // The same check for the run's threads. Thread-safe; follows the heartbeats. May outlive the attempt, but
  // not the worker.
  virtual std::function<bool()> start_check() const = 0;
  // Writes for the job. Each is retried until the store has decided; `done` runs on the loop's thread.
  virtual void write_parts(std::vector<storage::JobOutcomes::Part> parts,
                           std::chrono::milliseconds engine_time, LeaseCallback done) = 0;
  virtual void write_events(std::vector<storage::JobOutcomes::Event> events, LeaseCallback done) = 0;
  // Call it before a call to a model: before the first of the attempt, and before all if
  // ClaimedJob::has_budget. `done` gets false also when the budget does not allow the call; the job has
  // failed then.
  virtual void write_call(storage::JobOutcomes::ModelCall call, LeaseCallback done) = 0;
  // What the attempt's calls used; it is reported with the outcome. Call it before `ended`. If it is not
  // called, everything that was sent is charged.
  virtual void set_used(schemas::Charge used) = 0;
  // `done` gets false also when the store can never accept the files.
  virtual void write_artifacts(base::Uuid machine, std::vector<storage::JobOutcomes::NewArtifact> files,
                               LeaseCallback done) = 0;
  virtual void set_progress_total(int total, LeaseCallback done) = 0;
  virtual void attach_input(storage::Staged input, LeaseCallback done) = 0;
};

// One running attempt.
class Run {
 public:
  virtual ~Run() = default;
  // Kills what the run has started. `ended` follows soon, with Cancelled or with a result that was ready. May
  // be called more than once. Loop thread.
  virtual void stop(StopReason why) = 0;
};

// Limits the running jobs of a kind per lane, in addition to its slots. Claims consult it.
class JobLanes : public storage::ClaimLanes {
 public:
  // The callback is called when a full lane may have capacity again. It runs on any thread and must not
  // block.
  virtual void on_capacity(std::function<void()> callback) = 0;
  // True: a claim has found a full lane, and the callback has not been called since. Thread-safe.
  virtual bool some_are_full() = 0;
};

// Runs the jobs of one kind. Called on the loop's thread; must not block.
class Runner {
 public:
  // The run calls it exactly once, on the loop's thread; possibly before `start` returns.
  using Ended = std::function<void(Outcome)>;

  virtual ~Runner() = default;
  // Starts one attempt. `context` outlives the run.
  virtual std::shared_ptr<Run> start(const storage::ClaimedJob& job, AttemptContext& context,
                                     Ended ended) = 0;
  // Null: only slots limit the kind. Called once, before the first claim. If a job was claimed with a lane,
  // ClaimedJob::permit holds its permit.
  virtual std::shared_ptr<JobLanes> lanes() { return nullptr; }
};

inline base::Error exception_error(std::string_view step, const std::exception& what) {
  base::log_error("worker_step_failed", {{"step", step}, {"what", what.what()}});
  return base::error(base::Code::kInternal, "a step of the job failed inside the worker");
}

// Runs `work`, which returns a Result. An exception (out of memory, an exception of a library) becomes
// kInternal, which another attempt may survive. Without this, the caller would wait forever.
template <class Work>
auto guarded(std::string_view step, const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::exception& what) {
    return exception_error(step, what);
  }
}

}  // namespace millrace::workers
