#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "jobs/policy.h"
#include "workers/jobs/worker_metrics.h"
#include "workers/runner.h"

namespace millrace::workers {

// Shared by all attempts of a worker; outlives them.
struct WorkerContext {
  storage::Store& store;
  base::Pool& pool;
  net::Loop& loop;
  WeakLoop weak_loop;
  const base::Clock& clock;
  jobs::LeasePolicy lease;
  WorkerMetrics metrics;
};

// Runs one claimed job, from the start check until the store has accepted or refused its outcome. Loop thread
// only.
class Attempt final : public AttemptContext, public std::enable_shared_from_this<Attempt> {
 public:
  using OnFinished = std::function<void(Attempt&)>;

  // `on_finished` is called once, when the runner has ended and either the store has decided or the lease is
  // known to be lost. The slot is free then.
  Attempt(WorkerContext& worker_context, storage::ClaimedJob job, OnFinished on_finished);

  // Checks the clock, then starts the runner.
  void start(Runner& runner);
  // A heartbeat sent at `sent` renewed the lease.
  void on_lease_renewed(base::BootTime sent);
  // The heartbeat's response reported that the lease is lost, or that the job is to be cancelled.
  void on_lease_lost();
  void on_cancel_requested();
  // The worker shuts down: a result that is ready is stored; otherwise the job returns to the queue.
  void drain();
  // Kills the run if the last successful heartbeat is so old that the lease may have expired.
  void check_lease();
  // Returns the job to the queue without starting it.
  void return_to_queue();

  const storage::Lease& lease() const { return job_.lease; }
  bool may_hold_lease() const { return stop_ != StopReason::kLost; }
  schemas::Kind kind() const { return job_.lease.job.kind; }

  storage::Store& store() override { return worker_context_.store; }
  base::Pool& pool() override { return worker_context_.pool; }
  net::Loop& loop() override { return worker_context_.loop; }
  const WeakLoop& weak_loop() const override { return worker_context_.weak_loop; }
  const WorkerMetrics& metrics() const override { return worker_context_.metrics; }
  bool may_start() const override;
  std::function<bool()> start_check() const override;
  void write_parts(std::vector<storage::JobOutcomes::Part> parts, std::chrono::milliseconds engine_time,
                   LeaseCallback done) override;
  void write_events(std::vector<storage::JobOutcomes::Event> events, LeaseCallback done) override;
  void write_call(storage::JobOutcomes::ModelCall call, LeaseCallback done) override;
  void set_used(schemas::Charge used) override { used_ = used; }
  void write_artifacts(base::Uuid machine, std::vector<storage::JobOutcomes::NewArtifact> files,
                       LeaseCallback done) override;
  void set_progress_total(int total, LeaseCallback done) override;
  void attach_input(storage::Staged input, LeaseCallback done) override;

 private:
  // An error means that the write can never succeed (a bug of ours); every other failure is retried.
  using OnDecided = std::function<void(base::Result<storage::ReportResult>)>;
  // Sends a write to the store; may be called again with the same content.
  using Send = std::function<void(storage::Callback<storage::ReportResult>)>;
  // New work may begin strictly before this time (rule 2). Slot threads read it.
  using UsableUntil = std::atomic<base::BootTime>;

  void stop(StopReason why);
  void ended(Outcome outcome);
  void report_outcome(Outcome outcome);
  void cancelled(Outcome outcome);
  void write_outcome(Send send, AttemptOutcome end);
  void send_until_decided(Send send, std::chrono::milliseconds wait, OnDecided decided);
  void write_under_lease(Send send, LeaseCallback done);
  void send_later(Send send, std::chrono::milliseconds wait, OnDecided decided);
  void refused(const base::Error& error, AttemptOutcome intended);
  void retry(const Retry& retry);
  void complete(AttemptOutcome end);

  WorkerContext& worker_context_;
  const storage::ClaimedJob job_;
  storage::JobOutcomes outcomes_;
  const std::shared_ptr<UsableUntil> usable_until_;
  base::BootTime started_at_;
  OnFinished on_finished_;
  std::shared_ptr<Run> run_;
  std::optional<StopReason> stop_;
  storage::JobOutcomes::Used used_;
  bool running_ = false;  // the runner has started and not yet ended
  bool finished_ = false;
  std::map<int, net::Loop::Timer> retry_timers_;
  int next_timer_id_ = 0;
};

}  // namespace millrace::workers
