#pragma once
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bus/local.h"
#include "jobs/job_submitter.h"
#include "jobs/maintenance.h"
#include "jobs/outbox_publisher.h"
#include "platform/base/metrics.h"
#include "storage/jobs/job_queries.h"
#include "tests/support/answer.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait_until.h"
#include "workers/jobs/maintenance_timer.h"
#include "workers/worker.h"

namespace millrace::workers {

using support::Answer;

// The behaviour of a scripted runner. Each attempt waits until the test ends it.
class Script {
 public:
  struct HeldAttempt {
    storage::ClaimedJob job;
    AttemptContext* context = nullptr;
    Runner::Ended ended;
    std::vector<StopReason> stops;
    bool over = false;
  };
  using HeldPtr = std::shared_ptr<HeldAttempt>;

  // The n-th attempt overall, from 0, after it has started; nullptr: it did not start.
  HeldPtr attempt(std::size_t n) {
    std::unique_lock lock(mutex_);
    const bool there = support::wait_until(changed_, lock, [&] { return held_.size() > n; });
    return there ? held_[n] : nullptr;
  }
  std::size_t started() const {
    const std::lock_guard lock(mutex_);
    return held_.size();
  }
  bool stopped(const HeldPtr& held, StopReason why) {
    std::unique_lock lock(mutex_);
    return support::wait_until(changed_, lock, [&] {
      return std::find(held->stops.begin(), held->stops.end(), why) != held->stops.end();
    });
  }
  bool left_alone(const HeldPtr& held) const {
    const std::lock_guard lock(mutex_);
    return held->stops.empty();
  }
  // Ends an attempt on its loop.
  void end(const HeldPtr& held, Outcome outcome) {
    WeakLoop weak_loop = [&] {
      const std::lock_guard lock(mutex_);
      held->over = true;
      return held->context->weak_loop();
    }();
    weak_loop.post([held, outcome = std::make_shared<Outcome>(std::move(outcome))] {
      held->ended(std::move(*outcome));
    });
  }
  // True: a cancelled attempt ends with Cancelled.
  std::atomic<bool> obeys{true};
  // Ends each attempt immediately.
  std::atomic<bool> instant{false};

 private:
  friend class ScriptedRunner;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<HeldPtr> held_;
};

class ScriptedRunner final : public Runner {
 public:
  explicit ScriptedRunner(Script& script) : script_(script) {}
  std::shared_ptr<Run> start(const storage::ClaimedJob& job, AttemptContext& context, Ended ended) override;

 private:
  Script& script_;
};

// A store in a new folder with all parts between submission and worker, wired as in app/compose.
class WorkerFixture {
 public:
  struct Options {
    int slots = 2, reserved_slots = 0;
    std::string worker_name = {};
    jobs::LeasePolicy lease{std::chrono::milliseconds(200), std::chrono::milliseconds(2'000),
                            std::chrono::milliseconds(500)};
    std::chrono::milliseconds poll_interval_min{50}, poll_interval_max{100}, drain_grace{200};
    const base::Clock* clock = nullptr;  // default: the system clock
    std::chrono::milliseconds stuck_lock_after{2'000};
    bool with_worker = true;
    bool with_maintenance = false;
    storage::Store::OpenBlobs open_blobs = &storage::open_file_blobs;
  };
  WorkerFixture() : WorkerFixture(Options{}) {}
  explicit WorkerFixture(Options options);
  ~WorkerFixture();

  schemas::JobId submit(const std::string& tenant = "default", const std::string& spec = "{}");
  // Submits a job of tenant `default`.
  schemas::JobId submit(storage::Submission order);
  schemas::JobView view(const schemas::JobId& job, const std::string& tenant = "default");
  bool reaches(const schemas::JobId& job, schemas::JobStatus status, const std::string& tenant = "default");
  // The types of the events in the job's history.
  std::vector<std::string> event_types(const schemas::JobId& job);
  // The job's result; nullopt: none is stored.
  std::optional<std::string> result_text(const schemas::JobId& job);
  Worker::Dependencies dependencies() { return {*store, dispatch, pool, *clock, metrics}; }
  // A worker that runs no kind and is not started.
  std::unique_ptr<Worker> bare_worker(const std::string& name = {});
  std::unique_ptr<Worker> make_worker(Script& script, const std::string& name = {});

  void add_maintenance();

  support::TempDir dir;
  base::SystemClock system_clock;
  const Options options;
  const base::Clock* clock;
  base::Metrics metrics;
  base::Pool pool{{}};
  std::unique_ptr<storage::Store> store;
  bus::LocalDispatch dispatch;
  bus::LocalEvents events;
  std::unique_ptr<jobs::Waiters> waiters;
  std::unique_ptr<jobs::OutboxPublisher> relay;
  net::Loop maintenance_loop{"upkeep"};
  std::unique_ptr<jobs::Maintenance> upkeep;
  std::unique_ptr<MaintenanceTimer> maintenance_timer;
  std::unique_ptr<jobs::JobSubmitter> submitter;
  Script script;
  std::unique_ptr<Worker> worker;

 private:
  schemas::JobId submitted(storage::Submission order);
};

}  // namespace millrace::workers
