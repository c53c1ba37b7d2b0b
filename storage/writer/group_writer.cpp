#include "storage/writer/group_writer.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "platform/base/log.h"
#include "storage/db/errors.h"
#include "storage/webhooks/webhook_outbox.h"
#include "storage/workers/workers.h"

namespace millrace::storage {
namespace {

std::chrono::milliseconds offset(base::WallTime now, base::BootTime boot) {
  return now.time_since_epoch() - boot.time_since_epoch();
}

}  // namespace

ClockMonitor::ClockMonitor(base::WallTime now, base::BootTime boot)
    : trust_{.last_commit = std::nullopt, .regular_since = boot, .agreed_since = boot},
      opened_(boot),
      offset_(offset(now, boot)) {}

void ClockMonitor::on_group_begin(base::WallTime now, base::BootTime boot) {
  if (boot - trust_.last_commit.value_or(opened_) > kCommitGapMax) trust_.regular_since = boot;
  const auto offset_now = offset(now, boot);
  const auto jump = offset_now - offset_;
  offset_ = offset_now;
  if (std::chrono::abs(jump) <= kClockJumpMax) return;
  trust_.agreed_since = boot;
  base::log_warn("clock_jumped", {{"by_ms", jump.count()}, {"fix", "check the host's time service"}});
}

namespace {

constexpr std::size_t kUsualGroup = 64;  // initial capacity, in operations

struct ClockTimes {
  base::WallTime now;
  base::BootTime boot;
  base::BootTime host_boot;
};

// Both at once: a process that is stopped between the two would record a jump.
ClockTimes read_clocks(const base::Clock& clock) {
  constexpr std::chrono::milliseconds kApartMax{100};
  while (true) {
    const base::BootTime host_boot = clock.host_boot();
    const base::BootTime before = clock.boot();
    const base::WallTime now = clock.wall();
    if (clock.boot() - before <= kApartMax) return {now, before, host_boot};
  }
}

}  // namespace

bool CommitGroup::run() {
  operations_.reserve(kUsualGroup);
  std::optional<DbError> failure;
  if (run_as_one(failure)) return true;
  if (begun_) {
    run_one_by_one();
  } else {
    context_.queue.take(operations_, capacity_);
    if (failure && failure->prevents_writes()) failure_ = failure;
    outcomes_.assign(size(), store_error(*failure));
    parked_for_.assign(size(), {});
  }
  return false;
}

template <class F>
void CommitGroup::transaction(F&& f) {
  Db& db = context_.db;
  const auto changes_before = db.changes();
  try {
    db.begin_write();
  } catch (const DbError& e) {
    if (e.is_busy() || e.cause == DbError::Cause::kUnreachable) unavailable_ = e;
    throw;
  }
  begun_ = true;
  const auto [now, boot, host_boot] = read_clocks(context_.clock);
  context_.clocks.on_group_begin(now, boot);
  Commit commit_record;
  commit_record.changes.reserve(kUsualGroup);
  commit_record.ready.reserve(kUsualGroup);
  QuotaLedger quotas(context_.quota_defaults, now);
  WebhookOutbox webhooks;
  try {
    const auto jumped = context_.store_clock.on_group_begin(db, now, boot);
    Tx tx{db,     now,     boot, host_boot, jumped, context_.boot_id, commit_record, context_.clocks.trust(),
          quotas, webhooks};
    f(tx);
    webhooks.write(db);
    quotas.write(db);
    db.commit();
  } catch (...) {
    db.roll_back();
    throw;
  }
  context_.clocks.on_group_committed(boot);
  context_.store_clock.on_group_committed();
  has_written_ = has_written_ || db.changes() != changes_before;
  commits_.push_back(std::move(commit_record));
}

bool CommitGroup::run_as_one(std::optional<DbError>& failure) {
  try {
    transaction([this](Tx& tx) {
      const auto end = std::chrono::steady_clock::now() + context_.limits.wait_max;
      while (run_queued(tx) && std::chrono::steady_clock::now() < end) {
      }
      for (const bool last : {false, true}) retry_parked_claims(tx, last);
    });
    return true;
  } catch (const DbError& e) {
    if (!context_.health.failing() || !e.prevents_writes())  // else it was logged when it began
      base::log_warn("store_group_failed", {{"operations", size()}, {"code", e.code}, {"error", e.message}});
    failure = e;
  } catch (const std::exception& e) {
    base::log_error("store_group_failed", {{"operations", size()}, {"error", e.what()}});
  }
  return false;
}

// Runs the operations that have arrived. False: none has arrived, or the group is full.
bool CommitGroup::run_queued(Tx& tx) {
  if (capacity_.operations == 0) return false;
  const std::size_t first = size();
  if (context_.queue.take(operations_, capacity_) == 0) return false;
  if (tx.db.has_round_trips()) {
    for (std::size_t i = first; i < size(); ++i) operations_[i].operation.prefetch(tx.db);
  }
  for (std::size_t i = first; i < size(); ++i) run_operation(i, tx);
  return true;
}

void CommitGroup::run_operation(std::size_t index, Tx& tx) {
  outcomes_.resize(size());
  parked_for_.resize(size());
  tx.parked_for.reset();
  outcomes_[index] = operations_[index].operation(tx);
  parked_for_[index] = tx.parked_for;
}

// Runs parked operations again: first those of this group, then those of earlier groups, which join this one.
// They may be parked again.
void CommitGroup::retry_parked_claims(Tx& tx, bool last) {
  std::vector<ParkedClaim>& parked = context_.parked;
  const auto has_work_for = [&](const Tx::Parking& parking) {
    const auto is_kind = [&](const ReadyJob& job) { return job.job.kind == parking.kind; };
    return parking.last == last && (tx.retry_parked_claims || std::ranges::any_of(tx.commit.ready, is_kind));
  };
  for (std::size_t i = 0; i < outcomes_.size(); ++i) {
    if (parked_for_[i] && outcomes_[i] && has_work_for(*parked_for_[i])) run_operation(i, tx);
  }
  for (std::size_t i = 0; i < parked.size();) {
    if (!has_work_for(parked[i].parking)) {
      ++i;
      continue;
    }
    operations_.push_back(std::move(parked[i].operation));
    parked.erase(parked.begin() + static_cast<std::ptrdiff_t>(i));
    run_operation(size() - 1, tx);
  }
}

// Parked operations run last, so that they find what the others made ready.
void CommitGroup::run_one_by_one() {
  const std::size_t own = size();
  for (ParkedClaim& parked : context_.parked) operations_.push_back(std::move(parked.operation));
  context_.parked.clear();
  outcomes_.assign(size(), {});
  parked_for_.assign(size(), {});
  for (const auto priority :
       {Writer::Priority::kUrgent, Writer::Priority::kInteractive, Writer::Priority::kNormal}) {
    for (std::size_t i = 0; i < own; ++i) {
      if (operations_[i].priority == priority) outcomes_[i] = run_alone_in_transaction(i);
    }
  }
  for (std::size_t i = 0; i < size(); ++i) {
    const bool is_parked = parked_for_[i] && outcomes_[i];
    if (is_parked || i >= own) outcomes_[i] = run_alone_in_transaction(i);
  }
}

base::Status CommitGroup::run_alone_in_transaction(std::size_t index) {
  if (unavailable_) return store_error(*unavailable_);
  try {
    transaction([&](Tx& tx) { run_operation(index, tx); });
    return std::move(outcomes_[index]);
  } catch (const DbError& e) {
    if (e.prevents_writes()) failure_ = e;
    return store_error(e);
  } catch (const std::exception& e) {
    base::log_error("store_operation_failed", {{"error", e.what()}});
    return base::error(base::Code::kInternal, "the store failed; the gateway's log has the cause");
  }
}

CompletedGroup CommitGroup::completed() {
  CompletedGroup out;
  out.outcomes.reserve(size());
  for (std::size_t i = 0; i < size(); ++i) {
    if (parked_for_[i] && outcomes_[i]) {
      context_.parked.push_back({std::move(operations_[i]), *parked_for_[i]});
    } else {
      out.outcomes.push_back({std::move(operations_[i]), std::move(outcomes_[i])});
    }
  }
  if (commits_.size() == 1) {
    out.commit = std::move(commits_.front());
    return out;
  }
  for (Commit& c : commits_) {
    std::move(c.changes.begin(), c.changes.end(), std::back_inserter(out.commit.changes));
    std::move(c.ready.begin(), c.ready.end(), std::back_inserter(out.commit.ready));
    std::move(c.cancel_requests.begin(), c.cancel_requests.end(),
              std::back_inserter(out.commit.cancel_requests));
    out.commit.has_webhooks = out.commit.has_webhooks || c.has_webhooks;
  }
  return out;
}

namespace {

constexpr std::chrono::seconds kWriteAgain{2};

}  // namespace

GroupWriter::GroupWriter(const Options& options, const base::Clock& clock, Db& db, WriteGate& gate,
                         HealthState& health)
    : options_(options),
      gate_(gate),
      health_(health),
      queue_(options_.queue_max),
      dispatcher_([this](std::size_t count) { queue_.finished(count); }),
      clocks_(clock.wall(), clock.boot()),
      store_clock_(boot_number(clock.boot_id())),
      context_{db,    queue_,          clocks_,         store_clock_,           health,
               clock, clock.boot_id(), options_.limits, options_.quota_defaults},
      thread_([this] { run(); }) {}

GroupWriter::~GroupWriter() { close(std::chrono::milliseconds(0)); }

void GroupWriter::submit(Priority priority, std::size_t payload_bytes, Operation operation, Completion done) {
  if (const auto why = refusal(priority)) return done(overloaded(*why, kWriteAgain));
  QueuedOperation queued{priority, payload_bytes, std::move(operation), std::move(done)};
  switch (queue_.push(queued)) {
    case OperationQueue::Push::kQueued:
      return;
    case OperationQueue::Push::kFull:
      return queued.done(overloaded("the store's queue is full (store.queue_max)", kWriteAgain));
    case OperationQueue::Push::kClosed:
      return queued.done(overloaded("the gateway is shutting down", kWriteAgain));
  }
}

std::optional<std::string> GroupWriter::refusal(Priority priority) const {
  if (priority == Priority::kUrgent) return std::nullopt;
  if (health_.degraded()) return "the store takes no writes at the moment; try again later";
  if (priority == Priority::kInteractive || !health_.disk_low()) return std::nullopt;
  return "the disk of the data directory is nearly full: less than store.disk_free_min is free. Try again "
         "later; the gateway's operator must free some space";
}

void GroupWriter::run() {
  while (queue_.wait()) {
    if (!gate_.acquire()) {
      refuse(queue_.withdraw_all(), "the gateway is shutting down");
      continue;
    }
    if (health_.degraded()) health_.clear_degraded();
    run_group();
  }
  refuse_parked();
  std::lock_guard lock(mutex_);
  ended_ = true;
  end_.notify_all();
}

void GroupWriter::run_group() {
  const auto begun = std::chrono::steady_clock::now();
  CommitGroup group(context_);
  const bool first_try = group.run();
  gate_.release();
  set_health(group);
  if (group.size() == 0) return;  // all were withdrawn while this process waited for the lock
  count(group, first_try, std::chrono::steady_clock::now() - begun);
  CompletedGroup completed = group.completed();
  parked_ = context_.parked.size();
  dispatcher_.dispatch(std::move(completed));
  gate_.group_done();
}

// A group that writes nothing shows nothing.
void GroupWriter::set_health(const CommitGroup& group) {
  if (const auto& failure = group.failure()) {
    health_.set_failing(gate_.failure_cause(*failure));
  } else if (group.has_written()) {
    health_.clear_failing();
  }
}

// Changes no value but writes a page.
void GroupWriter::try_write() {
  submit(
      Priority::kUrgent, 0,
      [](Tx& tx) -> base::Status {
        tx.db.prepare("UPDATE identity SET id = id").run();
        return {};
      },
      [](const base::Status&) {});
}

void GroupWriter::count(const CommitGroup& group, bool first_try, std::chrono::steady_clock::duration took) {
  const std::chrono::duration<double> seconds = took;
  if (watch_) watch_(group.size(), seconds);
  std::lock_guard lock(mutex_);
  ++counts_.groups;
  counts_.operations += group.size();
  counts_.failed_groups += first_try ? 0 : 1;
  counts_.commit_seconds_max = std::max(counts_.commit_seconds_max, seconds.count());
}

GroupWriter::Counts GroupWriter::counts() const {
  std::lock_guard lock(mutex_);
  return counts_;
}

void GroupWriter::withdraw(const std::string& why) { refuse(queue_.withdraw_not_urgent(), why); }

void GroupWriter::refuse(std::vector<QueuedOperation> operations, const std::string& why) {
  if (operations.empty()) return;
  CompletedGroup completed;
  for (QueuedOperation& queued : operations)
    completed.outcomes.push_back({std::move(queued), overloaded(why, kWriteAgain)});
  dispatcher_.dispatch(std::move(completed));
}

void GroupWriter::refuse_parked() {
  std::vector<QueuedOperation> operations;
  operations.reserve(context_.parked.size());
  for (ParkedClaim& parked : context_.parked) operations.push_back(std::move(parked.operation));
  context_.parked.clear();
  refuse(std::move(operations), "the gateway is shutting down");
}

void GroupWriter::close(std::chrono::milliseconds timeout) {
  queue_.close();
  {
    std::unique_lock lock(mutex_);
    end_.wait_for(lock, timeout, [this] { return ended_; });
  }
  gate_.interrupt();
  if (thread_.joinable()) thread_.join();
  dispatcher_.close();
}

}  // namespace millrace::storage
