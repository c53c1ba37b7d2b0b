#include "workers/jobs/attempt.h"

#include <algorithm>
#include <random>
#include <utility>

#include "storage/jobs/job_queries.h"
#include "workers/jobs/worker_metrics.h"
#include "workers/runner.h"

namespace millrace::workers {
namespace {

using std::chrono::milliseconds;
using storage::ReportResult;

// Waits between retries of a write that met a full disk or a full queue.
constexpr milliseconds kFirstRetryDelay{20};
constexpr milliseconds kRetryDelayMax{2'000};

double random_fraction() {
  thread_local std::minstd_rand engine{std::random_device{}()};
  return std::uniform_real_distribution<double>(0.0, 1.0)(engine);
}

schemas::JobError job_error_of(const base::Error& error) { return {error.code, error.message, error.param}; }

// The outcome of an attempt after the store's decision. `intended`: the outcome that was sent to the store.
AttemptOutcome outcome_of(ReportResult applied, AttemptOutcome intended) {
  switch (applied) {
    case ReportResult::kApplied:
    case ReportResult::kRepeated:
      return intended;
    case ReportResult::kCancelled:
      return AttemptOutcome::kCancelled;
    case ReportResult::kLeaseLost:
      return AttemptOutcome::kLost;
  }
  return intended;
}

}  // namespace

Attempt::Attempt(WorkerContext& worker_context, storage::ClaimedJob job, OnFinished on_finished)
    : worker_context_(worker_context),
      job_(std::move(job)),
      outcomes_(worker_context.store),
      usable_until_(std::make_shared<UsableUntil>(job_.claimed_at + worker_context.lease.usable())),
      started_at_(worker_context.clock.boot()),
      on_finished_(std::move(on_finished)) {}

bool Attempt::may_start() const { return worker_context_.clock.boot() < usable_until_->load(); }

std::function<bool()> Attempt::start_check() const {
  return [until = usable_until_, &clock = worker_context_.clock] { return clock.boot() < until->load(); };
}

void Attempt::start(Runner& runner) {
  if (!may_start()) return return_to_queue();
  worker_context_.metrics.started(kind(), worker_context_.clock.wall() - job_.queued_at);
  running_ = true;
  if (job_.spec_damaged) return ended(Fail{storage::damaged_payload(base::Code::kRequestDamaged), {}});
  const auto ended_with = [self = weak_from_this()](Outcome outcome) {
    if (const auto attempt = self.lock()) attempt->ended(std::move(outcome));
  };
  auto run = guarded(
      "start", [&]() -> base::Result<std::shared_ptr<Run>> { return runner.start(job_, *this, ended_with); });
  if (!run) return ended(Retry{std::move(run.error())});
  if (running_) run_ = std::move(*run);
}

void Attempt::on_lease_renewed(base::BootTime sent) {
  if (stop_ == StopReason::kLost) return;
  usable_until_->store(std::max(usable_until_->load(), sent + worker_context_.lease.usable()));
}

// Ignored once the outcome has been sent: the store's reply to it shows whether the lease was held.
void Attempt::on_lease_lost() {
  if (running_) stop(StopReason::kLost);
}

void Attempt::on_cancel_requested() {
  if (running_ && !stop_) stop(StopReason::kCancel);
}

void Attempt::drain() {
  if (running_ && !stop_) stop(StopReason::kDrain);
}

void Attempt::check_lease() {
  if (running_ && stop_ != StopReason::kLost && !may_start()) stop(StopReason::kLost);
}

void Attempt::stop(StopReason why) {
  stop_ = why;
  if (why == StopReason::kLost) usable_until_->store(base::BootTime::min());
  if (run_) run_->stop(why);
}

void Attempt::ended(Outcome outcome) {
  if (!std::exchange(running_, false)) return;
  // The run may be on the call stack: destroy it in the next iteration of the loop.
  if (run_) worker_context_.loop.post([run = std::exchange(run_, nullptr)] {});
  report_outcome(std::move(outcome));
}

// Sends exactly one state change. If the lease is lost, the result is dropped and the job is returned to the
// queue. If another worker has the job, the store refuses that; otherwise the job need not wait until its
// lease expires.
void Attempt::report_outcome(Outcome outcome) {
  if (stop_ == StopReason::kLost) return return_to_queue();
  const storage::Lease lease = job_.lease;
  if (auto* done = std::get_if<Succeeded>(&outcome)) {
    write_outcome([this, lease, result = std::move(done->result)](
                      auto d) { outcomes_.finish(lease, result, std::move(d), used_); },
                  AttemptOutcome::kSucceeded);
  } else if (auto* fail = std::get_if<Fail>(&outcome)) {
    const bool is_exit = fail->error.code == base::Code::kCommandFailed;
    write_outcome([this, lease, error = job_error_of(fail->error), result = std::move(fail->result)](
                      auto d) { outcomes_.fail(lease, error, result, std::move(d), used_); },
                  is_exit ? AttemptOutcome::kCommandFailed : AttemptOutcome::kFailed);
  } else if (auto* split = std::get_if<Split>(&outcome)) {
    write_outcome([this, lease, s = std::move(*split)](
                      auto d) { outcomes_.split(lease, s.children, s.progress_total, std::move(d)); },
                  AttemptOutcome::kSplit);
  } else if (auto* late = std::get_if<Expire>(&outcome)) {
    write_outcome([this, lease, error = job_error_of(late->error), result = std::move(late->result)](
                      auto d) { outcomes_.expired(lease, error, result, std::move(d), used_); },
                  AttemptOutcome::kExpired);
  } else if (stop_ == StopReason::kCancel) {
    cancelled(std::move(outcome));
  } else if (const auto* again = std::get_if<Retry>(&outcome); again && stop_ != StopReason::kDrain) {
    retry(*again);
  } else {
    return_to_queue();
  }
}

// The job's owner has cancelled it, so any other outcome of the run is ignored.
void Attempt::cancelled(Outcome outcome) {
  auto* stopped = std::get_if<Cancelled>(&outcome);
  storage::Payload result = stopped ? std::move(stopped->result) : storage::Payload();
  write_outcome([this, result = std::move(result)](
                    auto d) { outcomes_.cancelled(job_.lease, result, std::move(d), used_); },
                AttemptOutcome::kCancelled);
}

void Attempt::retry(const Retry& retry) {
  const jobs::KindPolicy& policy = jobs::policy(kind());
  const double random = random_fraction();
  storage::RetryPlan plan =
      retry.crash ? jobs::crash_plan(job_.crashes, retry.error, random)
                  : jobs::retry_plan(policy, job_.lease.attempt - job_.losses, retry.error, random);
  plan.result = retry.result;
  plan.used = used_;
  log_job(
      base::LogLevel::kInfo, "job_retry", job_,
      {{"code", base::name(plan.error.code)}, {"why", plan.error.message}, {"delay_ms", plan.delay.count()}});
  write_outcome([this, plan = std::move(plan)](auto d) { outcomes_.retry(job_.lease, plan, std::move(d)); },
                AttemptOutcome::kRetry);
}

void Attempt::return_to_queue() {
  write_outcome([this](auto d) { outcomes_.return_to_queue(job_.lease, std::move(d), used_); },
                stop_ == StopReason::kLost ? AttemptOutcome::kLost : AttemptOutcome::kReturnedToQueue);
}

void Attempt::write_outcome(Send send, AttemptOutcome end) {
  send_until_decided(std::move(send), kFirstRetryDelay,
                     [self = shared_from_this(), end](const base::Result<ReportResult>& applied) {
                       if (!applied) return self->refused(applied.error(), end);
                       self->complete(outcome_of(*applied, end));
                     });
}

// The store can never accept the write (for example the split of a child), but the job must still end.
void Attempt::refused(const base::Error& error, AttemptOutcome intended) {
  log_job(base::LogLevel::kError, "job_transition_impossible", job_,
          {{"outcome", name(intended)}, {"why", error.message}});
  if (intended == AttemptOutcome::kFailed) return complete(AttemptOutcome::kLost);
  const schemas::JobError fault{base::Code::kInternal, "the job's result could not be stored"};
  write_outcome([this, fault](auto d) { outcomes_.fail(job_.lease, fault, {}, std::move(d), used_); },
                AttemptOutcome::kFailed);
}

void Attempt::send_until_decided(Send send, milliseconds wait, OnDecided decided) {
  // Copies the WeakLoop: the store's reply may arrive after the worker's end.
  auto reply = [self = shared_from_this(), weak_loop = worker_context_.weak_loop, send, wait,
                decided](base::Result<ReportResult> applied) {
    weak_loop.post([self, send, wait, decided, applied = std::move(applied)] {
      const bool final = applied || base::info(applied.error().code).retry == base::RetryClass::kPermanent;
      if (final) return decided(applied);
      log_job(base::LogLevel::kWarn, "job_transition_refused", self->job_,
              {{"why", applied.error().message}});
      self->send_later(send, wait, decided);
    });
  };
  send(std::move(reply));
}

void Attempt::send_later(Send send, milliseconds wait, OnDecided decided) {
  const int id = next_timer_id_++;
  retry_timers_[id] = worker_context_.loop.after(wait, [self = shared_from_this(), id, send, wait, decided] {
    self->retry_timers_.erase(id);
    self->send_until_decided(send, std::min(wait * 2, kRetryDelayMax), decided);
  });
}

// A write of a run; abandoned when the lease is lost.
void Attempt::write_under_lease(Send send, LeaseCallback done) {
  auto guarded = [self = shared_from_this(), send = std::move(send)](storage::Callback<ReportResult> d) {
    if (self->stop_ == StopReason::kLost) return d(ReportResult::kLeaseLost);
    send(std::move(d));
  };
  send_until_decided(std::move(guarded), kFirstRetryDelay,
                     [done = std::move(done)](const base::Result<ReportResult>& applied) {
                       done(applied && *applied == ReportResult::kApplied);
                     });
}

void Attempt::write_parts(std::vector<storage::JobOutcomes::Part> parts,
                          std::chrono::milliseconds engine_time, LeaseCallback done) {
  write_under_lease([this, parts = std::move(parts),
                     engine_time](auto d) { outcomes_.parts(job_.lease, parts, engine_time, std::move(d)); },
                    std::move(done));
}

void Attempt::write_events(std::vector<storage::JobOutcomes::Event> events, LeaseCallback done) {
  write_under_lease(
      [this, events = std::move(events)](auto d) { outcomes_.events(job_.lease, events, std::move(d)); },
      std::move(done));
}

void Attempt::write_call(storage::JobOutcomes::ModelCall call, LeaseCallback done) {
  write_under_lease(
      [this, call = std::move(call)](auto d) { outcomes_.call(job_.lease, call, std::move(d)); },
      std::move(done));
}

void Attempt::write_artifacts(base::Uuid machine, std::vector<storage::JobOutcomes::NewArtifact> files,
                              LeaseCallback done) {
  write_under_lease([this, machine, files = std::move(files)](
                        auto d) { outcomes_.artifacts(job_.lease, machine, files, std::move(d)); },
                    std::move(done));
}

void Attempt::set_progress_total(int total, LeaseCallback done) {
  write_under_lease([this, total](auto d) { outcomes_.progress_total(job_.lease, total, std::move(d)); },
                    std::move(done));
}

void Attempt::attach_input(storage::Staged input, LeaseCallback done) {
  write_under_lease(
      [this, input = std::move(input)](auto d) { outcomes_.attach_input(job_.lease, input, std::move(d)); },
      std::move(done));
}

void Attempt::complete(AttemptOutcome end) {
  if (std::exchange(finished_, true)) return;
  const milliseconds ran = worker_context_.clock.boot() - started_at_;
  worker_context_.metrics.ended(kind(), end, ran);
  log_job(base::LogLevel::kInfo, "job_attempt", job_, {{"outcome", name(end)}, {"duration_ms", ran.count()}});
  on_finished_(*this);
}

}  // namespace millrace::workers
