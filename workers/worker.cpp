#include "workers/worker.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include <unistd.h>

#include "platform/base/log.h"
#include "storage/jobs/job_maintenance.h"
#include "workers/jobs/attempt.h"
#include "workers/jobs/claimer.h"
#include "workers/jobs/heartbeat.h"
#include "workers/jobs/worker_lock.h"

namespace millrace::workers {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kReleaseRetryDelay{500};

}  // namespace

// After `start`, only the loop's thread uses these members, except `no_claims_left`, `drained`
// and the lock.
struct Worker::Impl {
  Impl(Options chosen, Dependencies dependencies, WorkerLock held)
      : options(std::move(chosen)),
        dispatch(dependencies.dispatch),
        lock(std::move(held)),
        incarnation(base::Uuid::make(dependencies.clock.wall())),
        loop("work"),
        worker_context{dependencies.store,
                       dependencies.pool,
                       loop,
                       WeakLoop(loop),
                       dependencies.clock,
                       options.lease,
                       WorkerMetrics(dependencies.metrics)},
        claims(dependencies.store),
        maintenance(dependencies.store),
        heartbeat(worker_context, hooks()) {
    dependencies.metrics
        .gauge("millrace_worker_info", "1; the labels identify this worker",
               {{"worker", lock.name()}, {"version", MILLRACE_VERSION}})
        .set(1);
  }

  const Options options;
  bus::Dispatch& dispatch;
  WorkerLock lock;
  const base::Uuid incarnation;
  const std::string host = options.host.empty() ? host_name() : options.host;
  net::Loop loop;
  WorkerContext worker_context;
  storage::JobClaims claims;
  storage::JobMaintenance maintenance;
  std::map<schemas::Kind, std::unique_ptr<Runner>> runners;
  std::map<schemas::Kind, Claimer::Bounds> kinds;
  std::optional<Claimer> claimer;
  Heartbeat heartbeat;
  std::map<base::Uuid, std::shared_ptr<Attempt>> attempts;  // by lease token
  std::atomic<bool> started{false};
  bool draining = false;
  bool claiming_stopped = false;  // paused by the operator: claims no new jobs, does not shut down
  bool all_claims_ended = false;
  bool retiring = false;
  net::Loop::Timer timer;

  std::mutex mutex;
  std::condition_variable changed;
  bool no_claims_left = false;  // no claim is in progress, and none will be started
  bool drained = false;

  Heartbeat::Hooks hooks();
  Heartbeat::Message make_message() const;
  void on_heartbeat(base::BootTime sent, const std::vector<storage::Lease>& leases,
                    const storage::HeartbeatReply& reply);
  void cancel(const schemas::JobId& job);
  void stop_claiming();
  void release_predecessor();
  void begin(storage::ClaimedJob job);
  void attempt_finished(const Attempt& attempt);
  void begin_drain();
  void claims_ended();
  void maybe_retire();
  void retired();
  // A call may end its attempt: iterate over a copy.
  template <class F>
  void for_each_attempt(F&& f) {
    const auto now = attempts;
    for (const auto& [token, attempt] : now) f(*attempt);
  }
};

Heartbeat::Hooks Worker::Impl::hooks() {
  return {.make_message = [this] { return make_message(); },
          .on_heartbeat = [this](base::BootTime sent, const std::vector<storage::Lease>& leases,
                                 const storage::HeartbeatReply& reply) { on_heartbeat(sent, leases, reply); },
          .check_leases = [this] { for_each_attempt([](Attempt& a) { a.check_lease(); }); },
          .idle = [this] { return attempts.empty(); }};
}

Heartbeat::Message Worker::Impl::make_message() const {
  Heartbeat::Message beat;
  beat.report = {.worker = lock.name(),
                 .incarnation = incarnation,
                 .host = host,
                 .version = MILLRACE_VERSION,
                 .slots = claimer->report()};
  for (const auto& [token, attempt] : attempts) {
    if (attempt->may_hold_lease()) beat.leases.push_back(attempt->lease());
  }
  return beat;
}

void Worker::Impl::on_heartbeat(base::BootTime sent, const std::vector<storage::Lease>& leases,
                                const storage::HeartbeatReply& reply) {
  if (reply.drain) stop_claiming();
  const auto contains = [](const auto& list, const auto& one) {
    return std::find(list.begin(), list.end(), one) != list.end();
  };
  for (const storage::Lease& lease : leases) {
    const auto found = attempts.find(lease.token);
    if (found == attempts.end()) continue;
    const std::shared_ptr<Attempt> attempt = found->second;
    if (contains(reply.lost, lease)) {
      attempt->on_lease_lost();
      continue;
    }
    attempt->on_lease_renewed(sent);
    if (contains(reply.cancel, lease.job)) attempt->on_cancel_requested();
  }
}

void Worker::Impl::cancel(const schemas::JobId& job) {
  for_each_attempt([&](Attempt& attempt) {
    if (attempt.lease().job == job) attempt.on_cancel_requested();
  });
}

// The first half of a drain, requested by an operator. Running jobs finish normally, which may take long.
void Worker::Impl::stop_claiming() {
  if (draining || std::exchange(claiming_stopped, true)) return;
  base::log_info("worker_stopped_claiming", {{"worker", lock.name()}});
  claimer->close([] {});
  claimer->leave();
}

// A previous worker of this name is dead, because we hold its lock: release its leases.
void Worker::Impl::release_predecessor() {
  maintenance.release_worker(
      lock.name(), jobs::kLossesMax,
      [this, weak_loop = worker_context.weak_loop](const base::Result<int>& released) {
        weak_loop.post([this, ok = released.has_value(), jobs = released.value_or(0)] {
          if (draining) return;
          if (!ok) {
            timer = loop.after(kReleaseRetryDelay, [this] { release_predecessor(); });
            return;
          }
          if (jobs > 0)
            base::log_warn("worker_restarted", {{"worker", lock.name()}, {"jobs_released", jobs}});
          heartbeat.start([this] { claimer->open(); });
        });
      });
}

void Worker::Impl::begin(storage::ClaimedJob job) {
  const base::Uuid token = job.lease.token;
  const schemas::Kind kind = job.lease.job.kind;
  auto attempt = std::make_shared<Attempt>(worker_context, std::move(job),
                                           [this](Attempt& ended) { attempt_finished(ended); });
  attempts.emplace(token, attempt);
  if (draining) return attempt->return_to_queue();
  attempt->start(*runners.at(kind));
}

void Worker::Impl::attempt_finished(const Attempt& attempt) {
  const schemas::Kind kind = attempt.kind();
  attempts.erase(attempt.lease().token);
  claimer->release_slot(kind);
  maybe_retire();
}

void Worker::Impl::begin_drain() {
  if (std::exchange(draining, true)) return;
  timer = loop.after(options.drain_grace, [this] { for_each_attempt([](Attempt& a) { a.drain(); }); });
  if (!started) {
    claims_ended();
    return retired();
  }
  claimer->close([this] { claims_ended(); });
}

void Worker::Impl::claims_ended() {
  all_claims_ended = true;
  {
    const std::lock_guard guard(mutex);
    no_claims_left = true;
  }
  changed.notify_all();
  if (started) maybe_retire();
}

void Worker::Impl::maybe_retire() {
  if (!draining || !all_claims_ended || !attempts.empty() || std::exchange(retiring, true)) return;
  timer.cancel();
  heartbeat.stop();
  claims.retire(lock.name(), [this, weak_loop = worker_context.weak_loop](const base::Result<bool>&) {
    // If the row remains, its old heartbeat shows that the worker is gone.
    weak_loop.post([this] { retired(); });
  });
}

void Worker::Impl::retired() {
  {
    const std::lock_guard guard(mutex);
    drained = true;
    lock.remove();
  }
  changed.notify_all();
}

base::Result<std::unique_ptr<Worker>> Worker::make(Options options, Dependencies dependencies) {
  auto lock = WorkerLock::take(options.data_dir, {.worker = options.name, .host = options.host},
                               dependencies.clock.boot_id());
  if (!lock) return lock.error();
  return std::unique_ptr<Worker>(
      new Worker(std::make_shared<Impl>(std::move(options), dependencies, std::move(*lock))));
}

Worker::Worker(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

Worker::~Worker() {
  impl_->loop.stop();
  impl_->worker_context.weak_loop.close();
  impl_->for_each_attempt([](Attempt& a) { a.on_lease_lost(); });
}

void Worker::add(schemas::Kind kind, Slots slots, std::unique_ptr<Runner> runner) {
  Impl& p = *impl_;
  if (!p.started) {
    p.kinds[kind] = {slots.slots, slots.reserved_slots, runner->lanes()};
    p.runners[kind] = std::move(runner);
    return;
  }
  auto late = std::make_shared<std::unique_ptr<Runner>>(std::move(runner));
  p.worker_context.weak_loop.post([&p, kind, slots, late] {
    Claimer::Bounds bounds{slots.slots, slots.reserved_slots, (*late)->lanes()};
    p.runners[kind] = std::move(*late);
    p.claimer->add(kind, std::move(bounds));
  });
}

void Worker::start() {
  Impl& p = *impl_;
  p.claimer.emplace(p.worker_context, p.dispatch,
                    Claimer::Options{.worker = p.lock.name(),
                                     .kinds = p.kinds,
                                     .poll_interval_min = p.options.poll_interval_min,
                                     .poll_interval_max = p.options.poll_interval_max},
                    [&p](storage::ClaimedJob job) { p.begin(std::move(job)); });
  p.claimer->subscribe();
  p.started = true;
  p.worker_context.weak_loop.post([&p] { p.release_predecessor(); });
}

bool Worker::stop_claiming(milliseconds deadline) {
  Impl& p = *impl_;
  p.worker_context.weak_loop.post([&p] { p.begin_drain(); });
  std::unique_lock lock(p.mutex);
  return p.changed.wait_for(lock, deadline, [&p] { return p.no_claims_left; });
}

bool Worker::drain(milliseconds deadline) {
  Impl& p = *impl_;
  p.worker_context.weak_loop.post([&p] { p.begin_drain(); });
  std::unique_lock lock(p.mutex);
  return p.changed.wait_for(lock, deadline, [&p] { return p.drained; });
}

std::function<void(const schemas::JobId&)> Worker::on_cancel_request() const {
  return [weak_loop = impl_->worker_context.weak_loop, &p = *impl_](const schemas::JobId& job) {
    weak_loop.post([&p, job] { p.cancel(job); });
  };
}

std::function<void(schemas::Kind)> Worker::on_queued_elsewhere() const {
  return [weak_loop = impl_->worker_context.weak_loop, &p = *impl_](schemas::Kind kind) {
    weak_loop.post([&p, kind] {
      if (p.started) p.claimer->look(kind);
    });
  };
}

const std::string& Worker::name() const { return impl_->lock.name(); }
const base::Uuid& Worker::incarnation() const { return impl_->incarnation; }
net::Loop& Worker::loop() { return impl_->loop; }

}  // namespace millrace::workers
