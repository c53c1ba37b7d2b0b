#include "storage/db/db.h"
#include "storage/jobs/job_queries.h"
#include "storage/sql.h"
#include "storage/writer/readers.h"
#include "storage/writer/store_clock.h"

namespace millrace::storage {
namespace {

std::int64_t count_queued(Db& db, schemas::Kind kind) {
  auto ready = db.prepare(R"(
      SELECT count(*)
      FROM (SELECT 1 FROM jobs WHERE status = {queued} AND run_at = 0 AND kind = ?1 LIMIT ?2) AS counted)"_sql);
  ready.bind(kind, kDepthMax).step();
  auto delayed = db.prepare(R"(
      SELECT count(*)
      FROM (SELECT 1 FROM jobs INDEXED BY jobs_delayed WHERE status = {queued} AND schedule = {not_scheduled}
          AND run_at > 0 AND run_at < {waits_for_machine} AND kind = ?1 LIMIT ?2) AS counted)"_sql);
  delayed.bind(kind, kDepthMax).step();
  return ready.integer(0) + delayed.integer(0);
}

std::int64_t count_scheduled(Db& db, schemas::Kind kind) {
  auto s = db.prepare(R"(
      SELECT count(*)
      FROM (SELECT 1 FROM jobs INDEXED BY jobs_delayed WHERE status = {queued}
          AND schedule IN ({schedule_time}, {schedule_delay}) AND run_at > 0 AND kind = ?1 LIMIT ?2) AS counted)"_sql);
  s.bind(kind, kDepthMax).step();
  return s.integer(0);
}

std::int64_t count_running(Db& db, schemas::Kind kind) {
  auto s = db.prepare("SELECT count(*) FROM jobs WHERE status = {running} AND kind = ?1"_sql);
  s.bind(kind).step();
  return s.integer(0);
}

std::int64_t count_waiting(Db& db, schemas::Kind kind) {
  auto s = db.prepare("SELECT count(*) FROM jobs WHERE status = {waiting} AND kind = ?1"_sql);
  s.bind(kind).step();
  return s.integer(0);
}

// Examines the first job of each (tenant, priority) queue; the oldest job is among them, except for released
// scheduled jobs, which wait from their run_at on. Each costs one seek in jobs_ready. In steady time.
std::optional<base::WallTime> oldest_ready(Db& db, schemas::Kind kind) {
  std::optional<base::WallTime> oldest;
  std::string tenant;
  std::optional<std::int64_t> priority;
  while (true) {
    auto lower = db.prepare(R"(
        SELECT tenant, priority, max(created_at, deadline - {default_deadline_ms}) - jumped_ms FROM jobs
        WHERE status = {queued} AND run_at = 0 AND kind = ?1 AND tenant = ?2 AND priority < ?3
        ORDER BY priority DESC, id LIMIT 1)"_sql);
    auto next = db.prepare(R"(
        SELECT tenant, priority, max(created_at, deadline - {default_deadline_ms}) - jumped_ms FROM jobs
        WHERE status = {queued} AND run_at = 0 AND kind = ?1 AND tenant > ?2
        ORDER BY tenant, priority DESC, id LIMIT 1)"_sql);
    const bool same_tenant = priority && lower.bind(kind, tenant, *priority).step();
    if (!same_tenant && !next.bind(kind, tenant).step()) return oldest;
    const Statement& head = same_tenant ? lower : next;
    tenant = head.text(0);
    priority = head.integer(1);
    const auto created = base::wall_from(head.integer(2));
    if (!oldest || created < *oldest) oldest = created;
  }
}

}  // namespace

base::Result<std::vector<QueueDepth>> JobQueries::depths() {
  std::vector<QueueDepth> depths;
  auto status = store_.readers().read([&](Db& db) {
    const std::chrono::milliseconds jumped = clock_jumps(db);
    for (schemas::Kind kind : schemas::kKinds) {
      depths.push_back({kind, count_queued(db, kind), count_running(db, kind), count_waiting(db, kind),
                        count_scheduled(db, kind), oldest_ready(db, kind)});
      if (auto& oldest = depths.back().oldest_queued) *oldest += jumped;
    }
  });
  if (!status) return status.error();
  return depths;
}

}  // namespace millrace::storage
