#include "storage/job_upkeep.h"

#include <algorithm>
#include <utility>

#include "storage/job_moves.h"
#include "storage/upkeep_steps.h"
#include "storage/worker_rows.h"

namespace millrace::storage {
namespace {

using schemas::JobStatus;

// At most this many leases of a worker end in one transaction; the others expire.
constexpr int kLeasesPerWorker = 1024;

int release_due_in(Tx& tx, const Store::Options& options, int limit) {
  auto s = tx.db.prepare(
      "SELECT id FROM jobs WHERE status = 0 AND run_at > 0 AND run_at <= ?1 ORDER BY run_at LIMIT ?2");
  s.bind(base::millis(tx.now), limit);
  JobMoves moves(tx, options);
  return for_each_job(tx.db, ids(s), [&](JobRow& row) { moves.release(row); });
}

// A lease of another boot has ended, whatever the clocks say. A lease of this boot expires only while the
// clocks can be trusted.
std::vector<base::Uuid> ended_leases(const Tx& tx, std::chrono::milliseconds lease, int limit) {
  const std::int64_t boot = boot_number(tx.boot_id);
  std::vector<base::Uuid> ended;
  {
    auto s = tx.db.prepare(
        "SELECT id FROM (SELECT id FROM jobs WHERE status = 1 AND lease_boot < ?1 "
        "UNION ALL SELECT id FROM jobs WHERE status = 1 AND lease_boot > ?1) LIMIT ?2");
    s.bind(boot, limit);
    ended = ids(s);
  }
  const int left = limit - static_cast<int>(ended.size());
  if (left <= 0 || !may_end_leases(tx, lease)) return ended;
  auto s = tx.db.prepare(
      "SELECT id FROM jobs WHERE status = 1 AND lease_boot = ?1 AND lease_until < ?2 ORDER BY lease_until "
      "LIMIT ?3");
  s.bind(boot, base::millis(tx.boot), left);
  while (s.step()) ended.push_back(s.uuid(0));
  return ended;
}

int lose_all(Tx& tx, const Store::Options& options, int losses_max, const std::vector<base::Uuid>& jobs) {
  JobMoves moves(tx, options);
  return for_each_job(tx.db, jobs, [&](JobRow& row) { moves.lose(row, losses_max); });
}

int release_worker_in(Tx& tx, const Store::Options& options, const std::string& worker, int losses_max) {
  std::vector<base::Uuid> jobs;
  {
    auto s = tx.db.prepare("SELECT id FROM jobs WHERE status = 1 AND worker = ?1 LIMIT ?2");
    s.bind(worker, kLeasesPerWorker);
    jobs = ids(s);
  }
  remove_worker(tx.db, worker);
  return lose_all(tx, options, losses_max, jobs);
}

// Jobs with an entry in the deadline index, and untouched ones.
std::vector<base::Uuid> overdue(const Tx& tx, FreshDeadlines& fresh, int limit) {
  std::vector<base::Uuid> jobs;
  {
    auto s = tx.db.prepare(
        "SELECT id FROM jobs WHERE status IN (0, 2) AND parent_id IS NULL AND (version > 1 OR run_at > 0 OR "
        "deadline <> created_at + 86400000) AND deadline <= ?1 ORDER BY deadline LIMIT ?2");
    s.bind(base::millis(tx.now), limit);
    jobs = ids(s);
  }
  const int left = limit - static_cast<int>(jobs.size());
  if (left <= 0) return jobs;
  const auto more = fresh.due(tx.db, tx.now, tx.boot, left);
  jobs.insert(jobs.end(), more.begin(), more.end());
  return jobs;
}

int expire_deadlines_in(Tx& tx, const Store::Options& options, FreshDeadlines& fresh, int limit) {
  const auto jobs = overdue(tx, fresh, limit);
  if (!may_end_overdue(tx)) return 0;  // they are found again later
  JobMoves moves(tx, options);
  return for_each_job(tx.db, jobs, [&](JobRow& row) {
    const bool ended = schemas::is_terminal(row.status);  // ended just now, together with a machine operation
    if (!ended) moves.end(row, {.status = JobStatus::kExpired});
  });
}

// Open children of terminal parents that are not cancelled yet; a running child is returned only once.
std::vector<base::Uuid> orphans(Db& db, int limit) {
  auto s = db.prepare(
      "SELECT c.id FROM jobs AS p CROSS JOIN jobs AS c ON c.parent_id = p.id WHERE p.status >= 3 AND "
      "p.children_left > 0 AND c.status < 3 AND c.cancel_requested = 0 LIMIT ?1");
  s.bind(limit);
  return ids(s);
}

int cancel_orphans_in(Tx& tx, const Store::Options& options, int limit) {
  JobMoves moves(tx, options);
  return for_each_job(tx.db, orphans(tx.db, limit), [&](JobRow& row) {
    if (row.status != JobStatus::kRunning) return moves.end(row, {.status = JobStatus::kCancelled});
    moves.ask_to_stop(row);
  });
}

}  // namespace

void JobUpkeep::release_due(int limit, Done<int> done) {
  const Store::Options& options = store_.options();
  submit_step(store_, Writer::Priority::kUrgent, std::move(done),
              [limit, &options](Tx& tx) { return release_due_in(tx, options, limit); });
}

void JobUpkeep::expire_leases(std::chrono::milliseconds lease, int losses_max, int limit, Done<int> done) {
  const Store::Options& options = store_.options();
  submit_step(store_, Writer::Priority::kUrgent, std::move(done),
              [lease, losses_max, limit, &options](Tx& tx) {
                return lose_all(tx, options, losses_max, ended_leases(tx, lease, limit));
              });
}

void JobUpkeep::release_worker(std::string worker, int losses_max, Done<int> done) {
  const Store::Options& options = store_.options();
  submit_step(store_, Writer::Priority::kUrgent, std::move(done),
              [worker = std::move(worker), losses_max, &options](Tx& tx) {
                return release_worker_in(tx, options, worker, losses_max);
              });
}

void JobUpkeep::expire_deadlines(int limit, Done<int> done) {
  const Store::Options& options = store_.options();
  submit_step(store_, Writer::Priority::kUrgent, std::move(done), [fresh = fresh_, limit, &options](Tx& tx) {
    return expire_deadlines_in(tx, options, *fresh, limit);
  });
}

void JobUpkeep::cancel_orphans(int limit, Done<int> done) {
  const Store::Options& options = store_.options();
  submit_step(store_, Writer::Priority::kUrgent, std::move(done),
              [limit, &options](Tx& tx) { return cancel_orphans_in(tx, options, limit); });
}

}  // namespace millrace::storage
