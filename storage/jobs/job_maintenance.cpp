#include "storage/jobs/job_maintenance.h"

#include <algorithm>
#include <utility>

#include "storage/blobs/blob_rows.h"
#include "storage/jobs/claim_order.h"
#include "storage/jobs/job_transitions.h"
#include "storage/jobs/kind_pauses.h"
#include "storage/jobs/maintenance_steps.h"
#include "storage/jobs/queue_positions.h"
#include "storage/sql.h"
#include "storage/workers/workers.h"
#include "storage/writer/readers.h"
#include "storage/writer/store_clock.h"

namespace millrace::storage {
namespace {

using schemas::JobStatus;

// At most this many leases of a worker end in one transaction; the others expire.
constexpr int kLeasesPerWorker = 1024;

int release_due_in(Tx& tx, const Store::Options& options, int limit) {
  std::vector<base::Uuid> due;
  for (const Schedule schedule : {Schedule::kNone, Schedule::kTime, Schedule::kDelay}) {
    const base::WallTime now = schedule == Schedule::kTime ? tx.now : tx.steady();
    for (const schemas::Kind kind : schemas::kKinds) {
      auto s = tx.db.prepare(R"(
          SELECT id FROM jobs INDEXED BY jobs_delayed
          WHERE status = {queued} AND run_at > 0 AND schedule = ?1 AND kind = ?2 AND run_at <= ?3
          ORDER BY run_at LIMIT ?4)"_sql);
      s.bind(schedule, kind, base::millis(now), limit - static_cast<int>(due.size()));
      while (s.step()) due.push_back(s.uuid(0));
    }
  }
  JobTransitions transitions(tx, options);
  return for_each_job(tx.db, due, [&](JobRow& row) { transitions.release(row); });
}

// A lease of another boot has ended, whatever the clocks say. A lease of this boot expires only while the
// clocks can be trusted.
std::vector<base::Uuid> ended_leases(const Tx& tx, std::chrono::milliseconds lease, int limit) {
  const std::int64_t boot = boot_number(tx.boot_id);
  std::vector<base::Uuid> ended;
  QueuePositions* positions = tx.db.has_round_trips() ? &tx.db.kept<QueuePositions>() : nullptr;
  const auto from = positions == nullptr ? std::nullopt : positions->leases_from(tx.boot);
  if (!from) {
    auto s = tx.db.prepare(R"(
        SELECT id FROM jobs INDEXED BY jobs_running
        WHERE status = {running} AND lease_boot <> ?1 LIMIT ?2)"_sql);
    s.bind(boot, limit);
    ended = ids(s);
  }
  const int left = limit - static_cast<int>(ended.size());
  if (left <= 0 || !may_expire_leases(tx, lease)) return ended;
  auto s = from ? tx.db.prepare(R"(
      SELECT id FROM jobs
      WHERE status = {running} AND lease_boot = ?1 AND lease_until < ?2 AND lease_until >= ?4
      ORDER BY lease_until LIMIT ?3)"_sql)
                : tx.db.prepare(R"(
      SELECT id FROM jobs INDEXED BY jobs_running
      WHERE status = {running} AND lease_boot = ?1 AND lease_until < ?2
      ORDER BY lease_until LIMIT ?3)"_sql);
  s.bind(boot, base::millis(tx.boot), left);
  if (from) s.bind(base::millis(*from));
  while (s.step()) ended.push_back(s.uuid(0));
  if (positions != nullptr && std::ssize(ended) < limit) positions->leases_checked(tx.boot);
  return ended;
}

int handle_lost_workers(Tx& tx, const Store::Options& options, int losses_max,
                        const std::vector<base::Uuid>& jobs) {
  JobTransitions transitions(tx, options);
  return for_each_job(tx.db, jobs, [&](JobRow& row) { transitions.handle_lost_worker(row, losses_max); });
}

// A worker with this name has started on another host since: its jobs are not those of ours.
bool is_of_another_host(Db& db, const Store::Options& options, const std::string& worker) {
  if (options.host.empty()) return false;
  auto s = db.prepare("SELECT 1 FROM workers WHERE name = ?1 AND host <> ?2");
  return s.bind(worker, options.host).step();
}

int release_worker_in(Tx& tx, const Store::Options& options, const std::string& worker, int losses_max) {
  if (is_of_another_host(tx.db, options, worker)) return 0;
  std::vector<base::Uuid> jobs;
  {
    auto s = tx.db.prepare(R"(
        SELECT id FROM jobs INDEXED BY jobs_running
        WHERE status = {running} AND worker = ?1 LIMIT ?2)"_sql);
    s.bind(worker, kLeasesPerWorker);
    jobs = ids(s);
  }
  remove_worker(tx.db, worker);
  return handle_lost_workers(tx, options, losses_max, jobs);
}

// Jobs with an entry in the deadline index, and untouched ones.
std::vector<base::Uuid> overdue(const Tx& tx, DeadlineScanner& deadline_scanner, int limit) {
  std::vector<base::Uuid> jobs;
  {
    auto s = tx.db.prepare(R"(
        SELECT id FROM jobs
        WHERE status IN ({queued}, {waiting}) AND parent_id IS NULL
            AND schedule = {not_scheduled}
            AND (version > 1 OR run_at > 0 OR deadline <> created_at + {default_deadline_ms})
            AND deadline - jumped_ms <= ?1
        ORDER BY deadline - jumped_ms LIMIT ?2)"_sql);
    s.bind(base::millis(tx.steady()), limit);
    jobs = ids(s);
  }
  const int left = limit - static_cast<int>(jobs.size());
  if (left <= 0) return jobs;
  const auto more = deadline_scanner.due(tx.db, tx.steady(), tx.boot, left);
  jobs.insert(jobs.end(), more.begin(), more.end());
  return jobs;
}

int expire_deadlines_in(Tx& tx, const Store::Options& options, DeadlineScanner& deadline_scanner, int limit) {
  const auto jobs = overdue(tx, deadline_scanner, limit);
  if (!may_expire_jobs(tx)) return 0;  // they are found again later
  JobTransitions transitions(tx, options);
  return for_each_job(tx.db, jobs, [&](JobRow& row) {
    const bool ended = schemas::is_terminal(row.status);  // ended just now, together with a machine operation
    if (!ended) transitions.end(row, {.status = JobStatus::kExpired});
  });
}

// Open children of terminal parents that are not cancelled yet; a running child is returned only once.
std::vector<base::Uuid> orphans(Db& db, int limit) {
  auto s = db.prepare(R"(
      SELECT c.id FROM jobs AS p CROSS JOIN jobs AS c ON c.parent_id = p.id
      WHERE p.status >= {first_terminal} AND p.children_left > 0 AND c.status < {first_terminal}
          AND c.cancel_requested = 0 LIMIT ?1)"_sql);
  s.bind(limit);
  return ids(s);
}

int cancel_orphans_in(Tx& tx, const Store::Options& options, int limit) {
  JobTransitions transitions(tx, options);
  return for_each_job(tx.db, orphans(tx.db, limit), [&](JobRow& row) {
    if (row.status != JobStatus::kRunning) return transitions.end(row, {.status = JobStatus::kCancelled});
    transitions.request_cancel(row);
  });
}

}  // namespace

void JobMaintenance::release_due(int limit, Callback<int> done) {
  const Store::Options& options = store_.options();
  submit_step(store_, Writer::Priority::kUrgent, std::move(done),
              [limit, &options](Tx& tx) { return release_due_in(tx, options, limit); });
}

void JobMaintenance::expire_leases(std::chrono::milliseconds lease, int losses_max, int limit,
                                   Callback<int> done) {
  const Store::Options& options = store_.options();
  submit_step(store_, Writer::Priority::kUrgent, std::move(done),
              [lease, losses_max, limit, &options](Tx& tx) {
                return handle_lost_workers(tx, options, losses_max, ended_leases(tx, lease, limit));
              });
}

void JobMaintenance::release_worker(std::string worker, int losses_max, Callback<int> done) {
  const Store::Options& options = store_.options();
  submit_step(store_, Writer::Priority::kUrgent, std::move(done),
              [worker = std::move(worker), losses_max, &options](Tx& tx) {
                return release_worker_in(tx, options, worker, losses_max);
              });
}

void JobMaintenance::expire_deadlines(int limit, Callback<int> done) {
  const Store::Options& options = store_.options();
  submit_step(store_, Writer::Priority::kUrgent, std::move(done),
              [deadline_scanner = deadline_scanner_, limit, &options](Tx& tx) {
                return expire_deadlines_in(tx, options, *deadline_scanner, limit);
              });
}

void JobMaintenance::cancel_orphans(int limit, Callback<int> done) {
  const Store::Options& options = store_.options();
  submit_step(store_, Writer::Priority::kUrgent, std::move(done),
              [limit, &options](Tx& tx) { return cancel_orphans_in(tx, options, limit); });
}

namespace {

constexpr std::int64_t kPerTransaction = 256;  // rows (docs/design/delivery.md §4)

std::vector<ReadyJob> take_in(Tx& tx, schemas::Kind kind) {
  std::vector<ReadyJob> taken;
  std::int64_t free_slots_left = std::min(free_window_slots(tx, kind), kPerTransaction);
  if (free_slots_left <= 0) return taken;
  FairQueueCursor cursor(tx.db, kind, CursorUse::kPublish);
  while (free_slots_left-- > 0) {
    const auto next = cursor.next();
    if (!next) break;
    auto row = find_job(tx.db, next->id);
    if (!publish_now(tx, *row, row->epoch, taken)) break;
  }
  cursor.save();
  return taken;
}

bool report_in(Tx& tx, const schemas::JobId& job, std::int64_t epoch, bool delivered) {
  auto s = tx.db.prepare("DELETE FROM outbox WHERE job = ?1 AND epoch = ?2");
  s.bind(job.uuid, epoch).run();
  if (s.changes() == 0) return false;
  if (!delivered) {
    tx.db.prepare("UPDATE jobs SET published_at = 0 WHERE id = ?1 AND status = {queued} AND epoch = ?2"_sql)
        .bind(job.uuid, epoch)
        .run();
  }
  return true;
}

std::vector<ReadyJob> republish_lost_in(Tx& tx, schemas::Kind kind, std::chrono::milliseconds age,
                                        int limit) {
  std::vector<ReadyJob> published;
  if (is_paused(tx.db, kind) || !has_long_free_slot(tx, kind)) return published;
  std::vector<base::Uuid> lost;
  {
    auto s = tx.db.prepare(R"(
        SELECT id FROM jobs
        WHERE status = {queued} AND published_at > 0 AND kind = ?1
            AND (published_at <= ?2 OR published_at > ?4)
        ORDER BY published_at LIMIT ?3)"_sql);
    s.bind(kind, base::millis(tx.steady() - age), limit, base::millis(tx.steady()));
    lost = ids(s);
  }
  for_each_job(tx.db, lost, [&](JobRow& row) { publish_now(tx, row, row.epoch + 1, published); });
  return published;
}

std::vector<ReadyJob> republish_outbox_in(Tx& tx, int limit) {
  std::vector<base::Uuid> marked;
  {
    auto s = tx.db.prepare("SELECT job FROM outbox WHERE marked_at <> ?1 ORDER BY marked_at LIMIT ?2");
    s.bind(base::millis(tx.steady()), limit);
    marked = ids(s);
  }
  std::vector<ReadyJob> published;
  for_each_job(tx.db, marked, [&](JobRow& row) { publish_now(tx, row, row.epoch, published); });
  return published;
}

template <class F>
void submit_publication(Store& store, Callback<std::vector<ReadyJob>> done, F f) {
  submit_write<std::vector<ReadyJob>>(
      store.writer(), Writer::Priority::kUrgent, kStepBytes,
      [f = std::move(f)](Tx& tx) -> base::Result<std::vector<ReadyJob>> { return f(tx); }, std::move(done));
}

}  // namespace

void JobMaintenance::select_for_publication(schemas::Kind kind, Callback<std::vector<ReadyJob>> done) {
  submit_publication(store_, std::move(done), [kind](Tx& tx) { return take_in(tx, kind); });
}

void JobMaintenance::record_publication(schemas::JobId job, std::int64_t epoch, bool delivered,
                                        Callback<bool> done) {
  submit_write<bool>(
      store_.writer(), Writer::Priority::kUrgent, kStepBytes,
      [job, epoch, delivered](Tx& tx) -> base::Result<bool> { return report_in(tx, job, epoch, delivered); },
      std::move(done));
}

void JobMaintenance::republish_lost(schemas::Kind kind, std::chrono::milliseconds age, int limit,
                                    Callback<std::vector<ReadyJob>> done) {
  submit_publication(store_, std::move(done),
                     [kind, age, limit](Tx& tx) { return republish_lost_in(tx, kind, age, limit); });
}

void JobMaintenance::republish_outbox(int limit, Callback<std::vector<ReadyJob>> done) {
  submit_publication(store_, std::move(done), [limit](Tx& tx) { return republish_outbox_in(tx, limit); });
}

namespace {

std::optional<std::int64_t> first_run_at(Db& db, Schedule schedule) {
  std::optional<std::int64_t> first;
  for (const schemas::Kind kind : schemas::kKinds) {
    auto s = db.prepare(R"(
        SELECT min(run_at) FROM jobs INDEXED BY jobs_delayed
        WHERE status = {queued} AND schedule = ?1 AND kind = ?2 AND run_at > 0
            AND run_at < {waits_for_machine})"_sql);
    s.bind(schedule, kind).step();
    if (const auto run_at = s.optional_integer(0)) first = std::min(first.value_or(*run_at), *run_at);
  }
  return first;
}

// In steady time.
std::optional<std::int64_t> first_deadline(Db& db) {
  auto s = db.prepare(R"(
      SELECT min(deadline - jumped_ms) FROM jobs
      WHERE status IN ({queued}, {waiting}) AND parent_id IS NULL AND schedule = {not_scheduled}
          AND (version > 1 OR run_at > 0 OR deadline <> created_at + {default_deadline_ms}))"_sql);
  s.step();
  return s.optional_integer(0);
}

// A first lease that took long to find, because an old snapshot keeps the rows of ended ones. Until it ends,
// no other one does: leases are renewed, and new ones begin later.
struct SlowLease : KeptState {
  static constexpr std::chrono::milliseconds kSlow{5};
  std::int64_t boot = 0, until = 0;
};

// In boot-clock time; 0 if there is a lease of another boot, which has ended.
std::optional<std::int64_t> look_for_first_lease(Db& db, std::int64_t boot) {
  auto other = db.prepare(R"(
          SELECT 1 FROM jobs INDEXED BY jobs_running
          WHERE status = {running} AND lease_boot <> ?1 LIMIT 1)"_sql);
  if (other.bind(boot).step()) return 0;
  auto s = db.prepare(R"(
      SELECT min(lease_until) FROM jobs INDEXED BY jobs_running
      WHERE status = {running} AND lease_boot = ?1)"_sql);
  s.bind(boot).step();
  return s.optional_integer(0);
}

std::optional<std::int64_t> first_lease(Db& db, std::int64_t boot, std::int64_t now) {
  if (!db.has_round_trips()) return look_for_first_lease(db, boot);
  auto& slow = db.kept<SlowLease>();
  if (slow.boot == boot && slow.until > now) return slow.until;
  const auto began = std::chrono::steady_clock::now();
  const auto first = look_for_first_lease(db, boot);
  const bool was_slow = std::chrono::steady_clock::now() - began >= SlowLease::kSlow;
  slow.until = was_slow ? first.value_or(0) : 0;
  slow.boot = boot;
  return first;
}

}  // namespace

base::Result<std::optional<base::WallTime>> JobMaintenance::next_due(std::chrono::milliseconds lease) {
  const base::Clock& clock = store_.clock();
  const std::int64_t wall_minus_boot = base::millis(clock.wall()) - base::millis(clock.boot());
  const std::int64_t latest_end = base::millis(clock.boot() + lease);  // no lease ends later
  std::optional<std::int64_t> due;
  const auto take = [&](std::optional<std::int64_t> t) {
    if (t) due = std::min(due.value_or(*t), *t);
  };
  auto status = store_.readers().read([&](Db& db) {
    const std::int64_t jumped = clock_jumps(db).count();
    const auto take_steady = [&](std::optional<std::int64_t> t) {
      if (t) take(*t + jumped);
    };
    take(first_run_at(db, Schedule::kTime));
    take_steady(first_run_at(db, Schedule::kDelay));
    take_steady(first_run_at(db, Schedule::kNone));
    if (!removed_and_ended(db, 1).empty()) take(base::millis(clock.wall()));
    take_steady(first_deadline(db));
    if (DeadlineScanner::any_queued(db)) {
      const auto scan = deadline_scanner_->next_scan(clock.boot());
      scan ? take_steady(base::millis(*scan)) : take(0);
    }
    if (const auto end = first_lease(db, boot_number(clock.boot_id()), base::millis(clock.boot()))) {
      take(std::min(*end + 1, latest_end) + wall_minus_boot);
    }
  });
  if (!status) return status.error();
  if (!due) return std::optional<base::WallTime>();
  return std::optional(base::wall_from(*due));
}

bool JobMaintenance::is_blob_referenced(const std::string& path) {
  bool referenced = true;  // if the read fails, the file is kept
  const auto status = store_.readers().read([&](Db& db) { referenced = is_path_referenced(db, path); });
  return referenced || !status;
}

}  // namespace millrace::storage
