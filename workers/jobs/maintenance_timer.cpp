#include "workers/jobs/maintenance_timer.h"

#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "jobs/policy.h"
#include "platform/base/log.h"
#include "workers/runner.h"

namespace millrace::workers {
namespace {

constexpr off_t kNoteAt = 512;  // after the identity of the lock's holder

}  // namespace

base::Result<MaintenanceLeader> MaintenanceLeader::open(const std::string& path,
                                                        std::chrono::milliseconds standby_after) {
  auto lock = storage::LockFile::open(path);
  if (!lock) return lock.error();
  base::Fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!file) return base::error(base::Code::kInternal, path + ": " + std::strerror(errno));
  return MaintenanceLeader(std::move(*lock), std::move(file), standby_after);
}

MaintenanceLeader::MaintenanceLeader(storage::LockFile lock, base::Fd file,
                                     std::chrono::milliseconds standby_after)
    : lock_(std::move(lock)), file_(std::move(file)), standby_after_(standby_after) {}

bool MaintenanceLeader::is_leader(base::BootTime now) {
  if (holds_) return true;
  if (!lock_.try_lock(storage::LockFile::Mode::kExclusive)) return take_over(now);
  holds_ = true;
  lock_.record_owner();
  record_next_round(now);
  return true;
}

void MaintenanceLeader::give_up() {
  lock_.unlock();
  holds_ = false;
}

// A time that we wrote ourselves does not show that the replaced leader is alive.
bool MaintenanceLeader::take_over(base::BootTime now) {
  const auto next = recorded_next_round();
  if (took_over_at_ && next == took_over_at_) return true;
  took_over_at_.reset();
  if (!next || now < *next + standby_after_) return false;
  base::log_warn("maintenance_stalled",
                 {{"held_by", lock_.recorded_owner()}, {"late_ms", (now - *next).count()}});
  took_over_at_ = next;
  record_next_round(now);
  return true;
}

// A standby that took over never overwrites a time that another process wrote.
void MaintenanceLeader::record_next_round(base::BootTime next) {
  if (!holds_ && recorded_next_round() != took_over_at_) return took_over_at_.reset();
  if (!holds_) took_over_at_ = next;
  const std::int64_t ms = next.time_since_epoch().count();
  if (::pwrite(file_.get(), &ms, sizeof ms, kNoteAt) != sizeof ms) {
    base::log_warn("maintenance_note_failed", {{"why", std::strerror(errno)}});
  }
}

std::optional<base::BootTime> MaintenanceLeader::recorded_next_round() const {
  std::int64_t ms = 0;
  if (::pread(file_.get(), &ms, sizeof ms, kNoteAt) != sizeof ms) return std::nullopt;
  return base::BootTime(std::chrono::milliseconds(ms));
}

using std::chrono::milliseconds;

namespace {

// If the next round is this near, activity does not cause an earlier one.
constexpr milliseconds kSoon{1'000};
// While another host maintains the store, this one looks this often for its own dead workers and whether it
// is its turn.
constexpr milliseconds kOtherHostMaintains{1'000};

// The most urgent nudge since the last round was scheduled.
enum class Urgency { kNone, kActivity, kDelayed };

}  // namespace

// Kept alive while a round is in progress.
struct MaintenanceTimer::State : std::enable_shared_from_this<State> {
  State(WeakLoop way, net::Loop& home, base::Pool& blocking, storage::Store& data, jobs::Maintenance& work,
        Options chosen)
      : weak_loop(std::move(way)),
        loop(home),
        pool(blocking),
        store(data),
        moves(data),
        maintenance(work),
        options(std::move(chosen)) {}

  const WeakLoop weak_loop;
  net::Loop& loop;
  base::Pool& pool;
  storage::Store& store;
  storage::JobMaintenance moves;
  jobs::Maintenance& maintenance;
  const Options options;
  std::atomic<bool> far{false};      // the next round is not soon
  std::atomic<bool> waiting{false};  // between two rounds
  std::atomic<Urgency> nudged{Urgency::kNone};
  std::atomic<bool> in_round{false};

  std::mutex mutex;
  std::condition_variable ended;
  bool busy = false;  // a leadership check or a round is in progress
  bool stopped = false;

  MaintenanceLeader whose;  // used on the pool while `busy`, otherwise by the thread that calls `stop`

  // Loop thread only.
  std::chrono::steady_clock::time_point next_at{};
  net::Loop::Timer timer;

  void plan(milliseconds wait);
  void plan_sooner();
  milliseconds longest_wait(Urgency urgency) const;
  void run();
  bool begin();
  void look();
  void round();
  void release_dead(std::vector<WorkerLock> dead);
  void release(std::shared_ptr<std::vector<WorkerLock>> dead, std::size_t at);
  void end(milliseconds next);
  void over(milliseconds next);
};

bool MaintenanceTimer::State::begin() {
  const std::lock_guard guard(mutex);
  busy = !stopped;
  return busy;
}

// Any thread. Only the first call per round counts.
void MaintenanceTimer::State::end(milliseconds next) {
  if (!in_round.exchange(false)) return;
  const bool posted = pool.post_reply(base::Pool::Queue::kQuick, [self = shared_from_this(), next] {
    self->whose.record_next_round(self->store.clock().boot() + next);
    self->over(next);
  });
  if (!posted) over(next);
}

void MaintenanceTimer::State::over(milliseconds next) {
  {
    const std::lock_guard guard(mutex);
    busy = false;
  }
  ended.notify_all();
  weak_loop.post([self = shared_from_this(), next] { self->plan(next); });
}

milliseconds MaintenanceTimer::State::longest_wait(Urgency urgency) const {
  switch (urgency) {
    case Urgency::kNone:
      break;
    case Urgency::kActivity:
      return options.standby;
    case Urgency::kDelayed:
      return options.nudge_wait;
  }
  return std::chrono::hours(24);
}

// A nudge during the round applies to the next one.
void MaintenanceTimer::State::plan(milliseconds wait) {
  wait = std::min(wait, longest_wait(nudged.exchange(Urgency::kNone)));
  far = wait > kSoon;
  next_at = std::chrono::steady_clock::now() + wait;
  waiting = true;
  timer.cancel();
  timer = loop.after(wait, [self = shared_from_this()] { self->run(); });
}

void MaintenanceTimer::State::run() {
  if (!waiting.exchange(false) || !begin()) return;
  const bool posted = pool.post(base::Pool::Queue::kQuick, [self = shared_from_this()] { self->look(); });
  if (!posted) over(kSoon);
}

void MaintenanceTimer::State::look() {
  if (!whose.is_leader(store.clock().boot())) return over(options.standby);
  round();
}

void MaintenanceTimer::State::round() {
  in_round = true;
  const auto begun = guarded("upkeep", [this]() -> base::Status {
    release_dead(WorkerLock::dead(options.data_dir));
    return {};
  });
  if (!begun) end(kSoon);
}

void MaintenanceTimer::State::release_dead(std::vector<WorkerLock> dead) {
  for (const WorkerLock& worker : dead) worker.kill_orphans(options.boot_id);
  release(std::make_shared<std::vector<WorkerLock>>(std::move(dead)), 0);
}

// Releases the dead workers one after the other. Each lock is held until the worker's leases are released, so
// no other process can claim under that name in the meantime.
void MaintenanceTimer::State::release(std::shared_ptr<std::vector<WorkerLock>> dead, std::size_t at) {
  if (at == dead->size()) {
    if (options.host_maintains && !options.host_maintains()) return end(kOtherHostMaintains);
    return maintenance.tick([self = shared_from_this()](milliseconds next) { self->end(next); });
  }
  const std::string name = (*dead)[at].name();
  moves.release_worker(name, jobs::kLossesMax,
                       [self = shared_from_this(), dead, at, name](const base::Result<int>& released) {
                         if (released) {
                           base::log_warn("worker_dead", {{"worker", name}, {"jobs_released", *released}});
                           (*dead)[at].remove();
                         }
                         self->release(dead, at + 1);
                       });
}

MaintenanceTimer::MaintenanceTimer(net::Loop& loop, base::Pool& pool, storage::Store& store,
                                   jobs::Maintenance& maintenance, Options options)
    : weak_loop_(loop),
      state_(std::make_shared<State>(weak_loop_, loop, pool, store, maintenance, std::move(options))) {}

MaintenanceTimer::~MaintenanceTimer() {
  stop(std::chrono::seconds(5));
  weak_loop_.close();
}

base::Status MaintenanceTimer::start() {
  auto whose =
      MaintenanceLeader::open(state_->options.data_dir + "/locks/upkeep.lock", state_->options.standby_after);
  if (!whose) return whose.error();
  state_->whose = std::move(*whose);
  weak_loop_.post([turn = state_] { turn->plan(milliseconds(0)); });
  return {};
}

void MaintenanceTimer::State::plan_sooner() {
  const auto left = next_at - std::chrono::steady_clock::now();
  const milliseconds wait = longest_wait(nudged);
  if (waiting && left > wait) plan(wait);
}

void MaintenanceTimer::request_round(bool delayed) {
  State& turn = *state_;
  if (!delayed && turn.waiting && !turn.far) return;
  const Urgency urgency = delayed ? Urgency::kDelayed : Urgency::kActivity;
  Urgency before = turn.nudged;
  while (before < urgency && !turn.nudged.compare_exchange_weak(before, urgency)) {
  }
  if (before < urgency) weak_loop_.post([turn = state_] { turn->plan_sooner(); });
}

void MaintenanceTimer::stop(milliseconds deadline) {
  std::unique_lock guard(state_->mutex);
  state_->stopped = true;
  if (state_->ended.wait_for(guard, deadline, [this] { return !state_->busy; })) state_->whose.give_up();
}

}  // namespace millrace::workers
