#include <algorithm>
#include <utility>

#include "storage/blobs/blob_rows.h"
#include "storage/jobs/job_maintenance.h"
#include "storage/jobs/job_transitions.h"
#include "storage/jobs/kind_rules.h"
#include "storage/jobs/maintenance_steps.h"
#include "storage/jobs/payload_rows.h"
#include "storage/jobs/queue_positions.h"
#include "storage/sql.h"
#include "storage/writer/readers.h"

namespace millrace::storage {
namespace {

// For kinds that keep their results: marks step 1 as done without deleting anything.
void skip_strip(Tx& tx, const JobRow& row) {
  auto s = tx.db.prepare(R"(
      UPDATE jobs SET stripped = 1
      WHERE id = ?1 AND status >= {first_terminal} AND children_left = 0 AND stripped = 0)"_sql);
  s.bind(row.id).run();
  expect_one_change(s, "pass by the strip");
}

// Step 1 for a root job: deletes its result, its parts, its children's results, and a succeeded job's input.
void strip(Tx& tx, const JobRow& row) {
  if (kind_rules(row.kind).keeps_result) return skip_strip(tx, row);
  std::vector<base::Uuid> children;
  if (row.children > 0) {
    auto s = tx.db.prepare("SELECT id FROM jobs WHERE parent_id = ?1 AND result IS NOT NULL");
    s.bind(row.id);
    children = ids(s);
  }
  for_each_job(tx.db, children, [&](const JobRow& child) {
    drop_result(tx.db, child.result);
    tx.db.prepare("UPDATE jobs SET result = NULL WHERE id = ?1").bind(child.id).run();
  });
  drop_result(tx.db, row.result);
  drop_parts(tx.db, row.id);
  const bool succeeded = row.status == schemas::JobStatus::kSucceeded;
  if (succeeded) drop_ref(tx.db, row.input);
  const std::int64_t kept = spec_bytes(tx.db, row.spec) + (succeeded ? 0 : blob_bytes(tx.db, row.input));
  count_bytes(tx, row, std::min<std::int64_t>(0, kept - row.bytes));
  auto s = tx.db.prepare(R"(
      UPDATE jobs SET stripped = 1, result = NULL,
          input = CASE WHEN status = {succeeded} THEN NULL ELSE input END
      WHERE id = ?1 AND status >= {first_terminal} AND children_left = 0 AND stripped = 0)"_sql);
  s.bind(row.id).run();
  expect_one_change(s, "strip");
}

int drop_results_in(Tx& tx, std::chrono::milliseconds age, int limit) {
  auto s = tx.db.prepare(R"(
      SELECT id FROM jobs
      WHERE status >= {first_terminal} AND parent_id IS NULL AND stripped = 0
          AND completed_at - jumped_ms <= ?1 AND children_left = 0
      ORDER BY completed_at - jumped_ms LIMIT ?2)"_sql);
  s.bind(base::millis(tx.steady() - age), limit);
  return for_each_job(tx.db, ids(s), [&](const JobRow& row) { strip(tx, row); });
}

int drop_jobs_in(Tx& tx, std::chrono::milliseconds age, int limit) {
  std::vector<base::Uuid> ended;
  {
    auto s = tx.db.prepare(R"(
        SELECT id FROM jobs
        WHERE status >= {first_terminal} AND parent_id IS NULL AND stripped IN (0, 1)
            AND completed_at - jumped_ms <= ?1 AND children_left = 0 LIMIT ?2)"_sql);
    s.bind(base::millis(tx.steady() - age), limit);
    ended = ids(s);
  }
  int deleted = 0;
  for (const base::Uuid& id : ended) {
    if (deleted >= limit) break;
    if (const auto row = find_job(tx.db, id)) deleted += erase_job(tx, *row, limit - deleted);
  }
  return deleted;
}

int drop_idempotency_in(Tx& tx, int limit) {
  auto s = tx.db.prepare(R"(
      DELETE FROM idempotency
      WHERE key IN (SELECT key FROM idempotency WHERE expires_at IS NOT NULL AND expires_at <= ?1
          ORDER BY expires_at LIMIT ?2))"_sql);
  s.bind(base::millis(tx.steady()), limit).run();
  return s.changes();
}

int drop_removed_in(Tx& tx, int limit) {
  int deleted = 0;
  for (const base::Uuid& id : removed_and_ended(tx.db, limit)) {
    if (deleted >= limit) break;
    if (const auto row = find_job(tx.db, id)) deleted += erase_job(tx, *row, limit - deleted);
  }
  return deleted;
}

}  // namespace

void JobMaintenance::drop_results(std::chrono::milliseconds age, int limit, Callback<int> done) {
  submit_step(store_, Writer::Priority::kUrgent, std::move(done),
              [age, limit](Tx& tx) { return may_delete_rows(tx) ? drop_results_in(tx, age, limit) : 0; });
}

void JobMaintenance::drop_jobs(std::chrono::milliseconds age, int limit, Callback<int> done) {
  submit_step(store_, Writer::Priority::kUrgent, std::move(done),
              [age, limit](Tx& tx) { return may_delete_rows(tx) ? drop_jobs_in(tx, age, limit) : 0; });
}

void JobMaintenance::drop_removed(int limit, Callback<int> done) {
  submit_step(store_, Writer::Priority::kUrgent, std::move(done),
              [limit](Tx& tx) { return std::max(remove_notes(tx, limit), drop_removed_in(tx, limit)); });
}

void JobMaintenance::drop_idempotency(int limit, Callback<int> done) {
  submit_step(store_, Writer::Priority::kUrgent, std::move(done),
              [limit](Tx& tx) { return may_delete_rows(tx) ? drop_idempotency_in(tx, limit) : 0; });
}

void JobMaintenance::drop_blobs(int limit, Callback<std::vector<std::string>> done) {
  submit_write<std::vector<std::string>>(
      store_.writer(), Writer::Priority::kUrgent, kStepBytes,
      [limit](Tx& tx) -> base::Result<std::vector<std::string>> { return delete_unreferenced(tx.db, limit); },
      std::move(done));
}

base::Result<bool> JobMaintenance::has_unreferenced_blobs() {
  return read(store_.readers(),
              [](Db& db) { return db.prepare("SELECT 1 FROM blobs WHERE refs = 0 LIMIT 1").step(); });
}

}  // namespace millrace::storage
