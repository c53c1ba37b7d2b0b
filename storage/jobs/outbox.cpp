#include "storage/jobs/outbox.h"

#include <algorithm>

#include "storage/jobs/job_maintenance.h"
#include "storage/jobs/kind_rules.h"
#include "storage/jobs/payload_rows.h"
#include "storage/jobs/workers.h"
#include "storage/sql.h"

namespace millrace::storage {
namespace {

void mark(Tx& tx, const base::Uuid& job, std::int64_t epoch) {
  tx.db
      .prepare(R"(
          INSERT INTO outbox (job, epoch, marked_at) VALUES (?1, ?2, ?3)
          ON CONFLICT (job) DO UPDATE SET epoch = excluded.epoch, marked_at = excluded.marked_at)"_sql)
      .bind(job, epoch, base::millis(tx.now))
      .run();
}

std::int64_t window_size(const Tx& tx, schemas::Kind kind) {
  return std::max(kWindowMin, kWindowPerFreeSlot * free_slots(tx, kind));
}

// True if no token of the job's lane is published.
bool is_first_of_lane(const Tx& tx, const JobRow& row) {
  if (!kind_rules(row.kind).has_lanes) return false;
  const std::int64_t most = window_size(tx, row.kind) + kLaneTokensMax;
  auto s = tx.db.prepare(R"(
      SELECT count(*), coalesce(max(model = ?2), 0)
      FROM (SELECT model FROM jobs INDEXED BY jobs_published WHERE status = {queued}
          AND published_at > 0 AND kind = ?1 LIMIT ?3))"_sql);
  s.bind(row.kind, row.model, most).step();
  return s.integer(0) < most && s.integer(1) == 0;
}

}  // namespace

std::int64_t free_window_slots(const Tx& tx, schemas::Kind kind) {
  const std::int64_t size = window_size(tx, kind);
  auto s = tx.db.prepare(R"(
      SELECT count(*)
      FROM (SELECT 1 FROM jobs WHERE status = {queued} AND published_at > 0 AND kind = ?1 LIMIT ?2))"_sql);
  s.bind(kind, size).step();
  return size - s.integer(0);
}

std::int64_t Publisher::take_window_slot(const JobRow& row) {
  if (!options_.outbox) return 0;
  auto free_slots_left = free_slots_.find(row.kind);
  if (free_slots_left == free_slots_.end())
    free_slots_left = free_slots_.emplace(row.kind, free_window_slots(tx_, row.kind)).first;
  if (free_slots_left->second <= 0) return is_first_of_lane(tx_, row) ? base::millis(tx_.now) : 0;
  --free_slots_left->second;
  return base::millis(tx_.now);
}

void Publisher::publish(const JobRow& row, std::string traceparent) {
  if (options_.outbox) {
    if (row.published_at == 0) return;
    mark(tx_, row.id, row.epoch);
  }
  tx_.commit.ready.push_back({row.job(), row.epoch, row.tenant, std::move(traceparent)});
}

void Publisher::unpublish(const JobRow& row) {
  if (row.published_at == 0) return;
  tx_.db.prepare("DELETE FROM outbox WHERE job = ?1").bind(row.id).run();
}

bool publish_now(Tx& tx, JobRow& row, std::int64_t epoch, std::vector<ReadyJob>& out) {
  auto s = tx.db.prepare(R"(
      UPDATE jobs SET epoch = ?2, published_at = ?3
      WHERE id = ?1 AND status = {queued} AND run_at = 0)"_sql);
  s.bind(row.id, epoch, base::millis(tx.now)).run();
  if (s.changes() == 0) return false;
  row.epoch = epoch;
  row.published_at = base::millis(tx.now);
  mark(tx, row.id, epoch);
  ReadyJob ready{row.job(), epoch, row.tenant, traceparent_of(tx.db, row.spec)};
  tx.commit.ready.push_back(ready);
  out.push_back(std::move(ready));
  return true;
}

}  // namespace millrace::storage
