#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_set>

#include "jobs/waiters.h"
#include "platform/net/loop.h"
#include "schemas/jobs/job.h"

namespace millrace::api {

class JobWaits;

// A wait or an event stream. It ends when a job changes or at shutdown.
class Drainable {
 public:
  virtual ~Drainable() = default;
  virtual void drain() = 0;  // on any thread; never blocks
};

// Waits for the end of one job. Thread-safe.
class JobWait final : public Drainable, public std::enable_shared_from_this<JobWait> {
 public:
  enum class End { kTerminal, kTimeout, kDraining };
  using Done = std::function<void(End)>;

  JobWait(JobWaits& waits, Done done) : waits_(waits), done_(std::move(done)) {}

  // The row shows that the job is over: `done` runs unless the wait has already ended.
  void on_job_terminal() { finish(End::kTerminal); }
  // Cancels the wait: `done` does not run.
  void cancel();
  void drain() override { finish(End::kDraining); }

 private:
  friend class JobWaits;
  void finish(End end);
  Done take_done();

  JobWaits& waits_;
  std::mutex mutex_;
  Done done_;
  jobs::Waiters::Subscription subscription_;
  net::Loop::Timer timer_;
};

// Owns all waits of this process. Thread-safe.
class JobWaits {
 public:
  JobWaits(jobs::Waiters& waiters, net::Loop& loop) : waiters_(waiters), loop_(loop) {}

  // `done` runs once, on the loop thread: when the job has ended, after `limit`, or at shutdown. Changes up
  // to `seen_version` are ignored. Register first, then submit or read the row once (docs/design/delivery.md
  // §2 rule 12).
  std::shared_ptr<JobWait> wait(const schemas::JobId& job, std::int64_t seen_version,
                                std::chrono::milliseconds limit, JobWait::Done done);
  // Registers an event stream, which shutdown then ends.
  void add(std::shared_ptr<Drainable> waiting);
  void remove(const std::shared_ptr<Drainable>& waiting);
  // Ends all waits; later ones end at once.
  void drain();

  jobs::Waiters& waiters() { return waiters_; }
  net::Loop& loop() { return loop_; }

 private:
  jobs::Waiters& waiters_;
  net::Loop& loop_;
  std::mutex mutex_;
  std::unordered_set<std::shared_ptr<Drainable>> waiting_;
  bool draining_ = false;
};

}  // namespace millrace::api
