#pragma once
#include <exception>
#include <functional>
#include <memory>
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
#include "workers/loop_link.h"

// The seam between the life of an attempt and what a kind of job does. A new kind is a Runner.
namespace millrace::workers {

// How an attempt ended, by its runner's word; workers/jobs/attempt turns it into exactly one store move.
struct Done {
  storage::Payload result;
};
struct Split {
  std::vector<storage::ChildSpec> children;
  int progress_total = 0;
};
// Worth another try; what it costs follows from the error's class. `crash`: the runner's own supervised
// child died. `result`: what the kind has to show if this was the last try, ≤ storage::kInlineMax.
struct Retry {
  base::Error error;
  bool crash = false;
  std::string result = {};
};
struct Fail {
  base::Error error;
  storage::Payload result;
};
// The kind's own time-out has passed: expired.
struct Expire {
  base::Error error;
  storage::Payload result;
};
// The store refused a write of the attempt, or the runner lost the means to go on: let another worker do it.
struct Lost {};
// Stopped as told.
struct Cancelled {
  storage::Payload result;
};
using Outcome = std::variant<Done, Split, Retry, Fail, Expire, Lost, Cancelled>;

// Between two tries of a run at what met a bound of ours.
inline constexpr std::chrono::milliseconds kRunAgain{250};

// Why a run is told to stop.
enum class Stop {
  kCancel,  // its owner cancelled the job
  kLost,    // the lease is gone or nearly over: another attempt may begin
  kDrain,   // the worker ends; what can end soon may still bring its result
};

// What a run may ask of the attempt that it belongs to. Loop thread only, except `link`, `pool`, `store`
// and `metrics`, which are thread-safe. Valid until the run has called `ended`.
class AttemptContext {
 public:
  // The store has decided: false, the lease is lost (or the run was told so): end with Lost.
  using Held = std::function<void(bool held)>;

  virtual ~AttemptContext() = default;
  virtual storage::Store& store() = 0;
  virtual base::Pool& pool() = 0;
  virtual net::Loop& loop() = 0;
  virtual const LoopLink& link() const = 0;
  virtual const WorkerMetrics& metrics() const = 0;
  // Rule 2: true while enough of the lease is left to begin something. Ask directly before.
  virtual bool may_start() const = 0;
  // The same question for the run's own threads: thread-safe, follows the heartbeats; may outlive the
  // attempt, not the worker.
  virtual std::function<bool()> start_check() const = 0;
  // Writes about the job, sent again until the store has decided; `done` on the loop's thread.
  virtual void write_parts(std::vector<storage::JobOutcomes::Part> parts, Held done) = 0;
  virtual void write_events(std::vector<storage::JobOutcomes::Event> events, Held done) = 0;
  // Held: also false when the store can never take them.
  virtual void write_artifacts(base::Uuid machine, std::vector<storage::JobOutcomes::NewArtifact> files,
                               Held done) = 0;
  virtual void set_progress_total(int total, Held done) = 0;
  virtual void attach_input(storage::Staged input, Held done) = 0;
};

// One attempt under way.
class Run {
 public:
  virtual ~Run() = default;
  // Loop thread; may come more than once. `ended` follows soon, with Cancelled or whatever was ready. Kills
  // what the run began.
  virtual void stop(Stop why) = 0;
};

// What bounds the jobs of a kind lane by lane, beside its slots: claims look at it.
class JobLanes : public storage::ClaimLanes {
 public:
  // `told`: a lane that was full may not be so any more. It runs on any thread and must not block.
  virtual void on_capacity(std::function<void()> callback) = 0;
  // A claim has met a full lane, and `told` has not been called since. Thread-safe.
  virtual bool some_are_full() = 0;
};

// A kind of work. Used on the loop's thread, must not block there.
class Runner {
 public:
  // To be called exactly once, on the loop's thread; may be called before `start` returns.
  using Ended = std::function<void(Outcome)>;

  virtual ~Runner() = default;
  // Begins one attempt. `context` outlives it.
  virtual std::shared_ptr<Run> start(const storage::Claimed& job, AttemptContext& context, Ended ended) = 0;
  // Null: slots alone bound the kind. Asked once, before the first claim. A job that was claimed so has its
  // place in Claimed.
  virtual std::shared_ptr<JobLanes> lanes() { return nullptr; }
};

inline base::Error threw(std::string_view step, const std::exception& what) {
  base::log_error("worker_step_failed", {{"step", step}, {"what", what.what()}});
  return base::error(base::Code::kInternal, "a step of the job failed inside the worker");
}

// Runs `work`, which gives a Result; what it throws (memory ran out, a library's exception) becomes
// kInternal, which another attempt may pass: nobody else would end what waits for it.
template <class Work>
auto guarded(std::string_view step, const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::exception& what) {
    return threw(step, what);
  }
}

}  // namespace millrace::workers
