#include "ai/engines/pool/engine_pool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <poll.h>
#include <unistd.h>

#include "ai/engines/pool/call_queue.h"
#include "ai/engines/pool/engine_call.h"
#include "ai/engines/pool/engine_child.h"
#include "platform/base/log.h"
#include "platform/process/child.h"

namespace millrace::engines {
namespace {

using base::Code;
using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

constexpr milliseconds kStartAgain{5'000};
constexpr milliseconds kTrialAgain{60'000};

std::string_view words(EngineCall::LimitHit why) {
  return why == EngineCall::LimitHit::kByClock ? "clock" : "processor_time";
}

}  // namespace

void EngineCallHandle::cancel() const {
  if (cancel_) cancel_();
}

// `pumps`, `queue` and what `assign` reads of the pumps belong to the mutex.
struct EnginePool::Shared {
  Shared(process::Spawner& starter, Options chosen, process::Jail locked)
      : spawner(starter),
        options(std::move(chosen)),
        jail(std::make_shared<process::Jail>(std::move(locked))),
        confinement(jail->confinement()),
        queue(options.queue_max) {}

  process::Spawner& spawner;
  const Options options;
  std::mutex jail_mutex;                      // guards the next two
  std::shared_ptr<const process::Jail> jail;  // of the next child
  Steady::time_point next_trial;
  std::atomic<process::Confinement> confinement;  // of `jail`
  std::mutex mutex;
  CallQueue queue;
  std::vector<std::shared_ptr<EngineCall>> running;
  bool closed = false;
  Counts counts;
  std::vector<std::unique_ptr<Pump>> pumps;

  void assign();
  std::shared_ptr<const process::Jail> jail_for_child();
};

// A thread with at most one child: runs the calls that it is assigned, and keeps the child for a while.
class EnginePool::Pump {
 public:
  using Call = std::shared_ptr<EngineCall>;

  Pump(Shared& shared, bool warm) : shared_(shared), warm_(warm), thread_([this] { run(); }) {}

  // The lower, the better for a call of this owner: a child that served the owner, a new child, no child, a
  // child that must be replaced. nullopt: the pump runs a call or has ended. REQUIRES: the mutex is held.
  std::optional<int> rank(const std::string& owner) const {
    if (!is_free_) return std::nullopt;
    if (!has_child_) return 2;
    if (!served_) return 1;
    return *served_ == owner ? 0 : 3;
  }
  // REQUIRES: the mutex is held; rank is not nullopt.
  void take(Call call) {
    is_free_ = false;
    call_ = std::move(call);
    assigned_.notify_one();
  }
  void wake() { assigned_.notify_one(); }
  // Waits for the thread; it ends when the pool is closed.
  void join() { thread_.join(); }

 private:
  void run() {
    warm_up();
    set_free();
    while (const Call call = next_call()) {
      EngineResult end = serve(*call);
      warm_up();
      {
        const std::lock_guard lock(shared_.mutex);
        std::erase(shared_.running, call);
        shared_.queue.end(*call);
      }
      // Free from here on: a call that the callback submits uses this child instead of starting another.
      set_free();
      call->end(std::move(end));
    }
    drop_child(false);
  }

  void set_free() {
    const std::lock_guard lock(shared_.mutex);
    is_free_ = true;
    shared_.assign();
  }

  // Replaces a warm child that died before the next call arrives. If no child can be started, the next call
  // tries again and reports the error.
  void warm_up() {
    if (!warm_ || child_ || closed()) return;
    static_cast<void>(ready_child(nullptr));
  }

  bool closed() const {
    const std::lock_guard lock(shared_.mutex);
    return shared_.closed;
  }

  // Waits for a call; stops an idle child after a while. nullptr: the pool is closed.
  Call next_call() {
    std::unique_lock lock(shared_.mutex);
    const auto something = [this] { return call_ != nullptr || shared_.closed; };
    while (!something()) {
      if (!has_child_ || warm_) {
        assigned_.wait(lock, something);
      } else if (!assigned_.wait_for(lock, shared_.options.idle_after, something)) {
        has_child_ = false;
        lock.unlock();
        drop_child(false);
        lock.lock();
      }
    }
    if (!call_) is_free_ = false;
    return std::move(call_);
  }

  EngineResult serve(EngineCall& call) {
    const auto deadline = Steady::now() + call.wall() + shared_.options.limits.child_grace;
    for (int crashes = 0;;) {
      if (call.is_cancelled()) return ended(EngineResult::Kind::kCancelled);
      if (auto status = ready_child(&call.owner()); !status) return failed(not_now(status.error()));
      const bool taken = call.send_request(*child_);
      if (const auto why = child_->take_host_error()) return failed(not_copied(*why));
      const auto end = taken ? follow(call, deadline) : gone(call, call.broken());
      const bool crashed = end && end->kind == EngineResult::Kind::kCrashed;
      if (end && (!crashed || ++crashes > crashes_max(call, taken))) return *end;
      if (Steady::now() >= deadline) return call.broken();
      if (crashed && call.crashes_max() > 0) pause(call, crashes);
    }
  }

  // When a child does not even read the request, the call is not to blame: it is retried once with another
  // child.
  static int crashes_max(const EngineCall& call, bool taken) {
    return std::max(call.crashes_max(), taken ? 0 : 1);
  }

  void pause(const EngineCall& call, int crashes) const {
    const auto until = Steady::now() + crashes * shared_.options.limits.crash_pause;
    pollfd cancelled{call.cancelled_fd(), POLLIN, 0};
    while (Steady::now() < until && ::poll(&cancelled, 1, process::poll_limit(until)) <= 0) {
    }
  }

  // It is not the job's fault when the engine cannot start: the job waits without using up an attempt.
  static base::Error not_now(const base::Error& why) {
    base::log_error("engine.cannot_start", {{"error", why.message}});
    base::Error error = base::error(Code::kOverloaded, "the local engine cannot be started: retry later");
    error.retry_after = kStartAgain;
    return error;
  }

  // Neither is it when there is no memory for its input. An input that cannot be read uses up an attempt.
  static base::Error not_copied(const base::Error& why) {
    base::log_error("engine.input_not_copied", {{"error", why.message}});
    if (why.code != Code::kOverloaded) return why;
    base::Error error =
        base::error(Code::kOverloaded, "the input cannot be copied for the local engine: retry later");
    error.retry_after = kStartAgain;
    return error;
  }

  // Replaces a child that died between two calls, or that has served another owner. `owner`: of the next
  // call; null: not known yet.
  base::Status ready_child(const std::string* owner) {
    const bool is_alive = child_ && child_->alive();
    const bool is_foreign = owner != nullptr && served_ && *served_ != *owner;
    if (!is_alive || is_foreign) {
      drop_child(child_ && !is_alive);
      auto child = EngineChild::start(shared_.spawner, *shared_.jail_for_child(), shared_.options);
      if (!child) return std::move(child.error());
      child_ = std::move(*child);
    }
    const std::lock_guard lock(shared_.mutex);
    if (!has_child_) {
      has_child_ = true;
      ++shared_.counts.children_running;
      ++shared_.counts.children_started;
    }
    if (owner != nullptr) served_ = *owner;
    return {};
  }

  void drop_child(bool crash) {
    if (!child_) return;
    child_.reset();
    const std::lock_guard lock(shared_.mutex);
    has_child_ = false;
    served_.reset();
    --shared_.counts.children_running;
    if (crash) ++shared_.counts.children_crashed;
  }

  // Handles events until the call ends. nullopt: the child was killed during one part, and a new child gets
  // the rest.
  std::optional<EngineResult> follow(EngineCall& call, Steady::time_point deadline) {
    for (;;) {
      Event event;
      switch (child_->next(event, time_limit(call, deadline), call.cancelled_fd())) {
        case EngineChild::ReadResult::kInterrupted:
          drop_child(false);
          return ended(EngineResult::Kind::kCancelled);
        case EngineChild::ReadResult::kGone:
          if (child_->hit_cpu_bound()) return on_limit_hit(call, EngineCall::LimitHit::kByProcessorTime);
          return gone(call, call.broken());
        case EngineChild::ReadResult::kTimeout:
          return on_limit_hit(call, EngineCall::LimitHit::kByClock);
        case EngineChild::ReadResult::kEvent:
          if (auto end = call.handle(std::move(event))) {
            return end->kind == EngineResult::Kind::kCrashed ? gone(call, std::move(*end)) : std::move(*end);
          }
      }
    }
  }

  // A child that sends events continuously is limited by the time limit of the whole call.
  milliseconds time_limit(const EngineCall& call, Steady::time_point deadline) const {
    const auto left = std::chrono::ceil<milliseconds>(deadline - Steady::now());
    return std::min(call.time_limit() + shared_.options.limits.child_grace, left);
  }

  EngineResult gone(const EngineCall& call, EngineResult end) {
    drop_child(true);
    base::log_warn("engine.child_crashed", {{"page", end.page}, {"media", call.place().of}});
    return end;
  }

  std::optional<EngineResult> on_limit_hit(EngineCall& call, EngineCall::LimitHit why) {
    drop_child(true);
    const EngineCall::Place place = call.place();
    base::log_warn("engine.child_stuck", {{"page", place.part}, {"media", place.of}, {"bound", words(why)}});
    return call.on_limit_hit(why);
  }

  Shared& shared_;
  const bool warm_;
  std::optional<EngineChild> child_;
  // The next members belong to the mutex; only this thread changes the first two.
  bool has_child_ = false;
  std::optional<std::string> served_;  // the owner whose inputs the child has seen
  bool is_free_ = false;
  Call call_;  // assigned, not begun yet
  std::condition_variable assigned_;
  std::jthread thread_;
};

// Gives waiting calls to free pumps. REQUIRES: the mutex is held.
void EnginePool::Shared::assign() {
  while (const std::string* owner = queue.next_owner()) {
    Pump* best = nullptr;
    int best_rank = 0;
    for (const auto& pump : pumps) {
      const auto rank = pump->rank(*owner);
      if (!rank || (best != nullptr && *rank >= best_rank)) continue;
      best = pump.get();
      best_rank = *rank;
    }
    if (best == nullptr) return;
    auto call = queue.begin_next();
    running.push_back(call);
    best->take(std::move(call));
  }
}

std::shared_ptr<const process::Jail> EnginePool::Shared::jail_for_child() {
  std::unique_lock lock(jail_mutex);
  const bool is_best = !options.retries_namespaces || confinement == process::Confinement::kNamespaces;
  if (is_best || Steady::now() < next_trial) return jail;
  next_trial = Steady::now() + kTrialAgain;
  lock.unlock();  // a trial may take seconds, and other children need a jail meanwhile
  const base::Status works = process::Jail::trial(spawner, options.jail, process::Confinement::kNamespaces);
  auto stricter = process::Jail::make(options.jail, process::Confinement::kNamespaces);
  lock.lock();
  if (!works || !stricter) return jail;
  jail = std::make_shared<process::Jail>(std::move(*stricter));
  confinement = jail->confinement();
  base::log_info("jail_namespaces_used", {});
  return jail;
}

EnginePool::EnginePool(std::unique_ptr<Shared> shared) : shared_(std::move(shared)) {}

base::Result<std::unique_ptr<EnginePool>> EnginePool::make(process::Spawner& spawner, Options options,
                                                           process::Confinement confinement) {
  if (::access(options.engine_path.c_str(), X_OK) != 0) {
    return base::error(Code::kInternal, "the program " + options.engine_path + " is missing: build it");
  }
  auto jail = process::Jail::make(options.jail, confinement);
  if (!jail) return std::move(jail.error());
  options.children = std::max({1U, options.children, options.warm_children});
  auto shared = std::make_unique<Shared>(spawner, std::move(options), std::move(*jail));
  std::unique_ptr<EnginePool> pool(new EnginePool(std::move(shared)));
  Shared& parts = *pool->shared_;
  const std::lock_guard lock(parts.mutex);  // the first pumps are running already
  for (unsigned i = 0; i < parts.options.children; ++i) {
    parts.pumps.push_back(std::make_unique<Pump>(parts, i < parts.options.warm_children));
  }
  return pool;
}

EnginePool::~EnginePool() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->closed = true;
    shared_->queue.cancel_all();
    for (const auto& call : shared_->running) call->cancel();
    for (const auto& pump : shared_->pumps) pump->wake();
  }
  for (const auto& pump : shared_->pumps) pump->join();
}

base::Result<EngineCallHandle> EnginePool::submit(std::shared_ptr<EngineCall> call) {
  if (!call->usable()) {
    return base::error(Code::kOverloaded, "no file descriptor is left: raise `ulimit -n`");
  }
  std::vector<std::shared_ptr<EngineCall>> left;  // cancelled calls free their places
  bool full = false;
  {
    const std::lock_guard lock(shared_->mutex);
    full = shared_->closed || !shared_->queue.add(call);
    if (full && !shared_->closed) {
      left = shared_->queue.take_cancelled();
      full = !shared_->queue.add(call);
    }
    shared_->assign();
  }
  for (const auto& gone : left) gone->end(ended(EngineResult::Kind::kCancelled));
  if (full)
    return base::error(Code::kOverloaded, "too many calls are queued for the local engine: retry later");
  return EngineCallHandle([call = std::move(call)] { call->cancel(); });
}

const EngineLimits& EnginePool::limits() const { return shared_->options.limits; }

process::Confinement EnginePool::confinement() const { return shared_->confinement; }

EnginePool::Counts EnginePool::counts() const {
  const std::lock_guard lock(shared_->mutex);
  Counts counts = shared_->counts;
  counts.queued = shared_->queue.size();
  return counts;
}

}  // namespace millrace::engines
