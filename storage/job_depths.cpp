#include "storage/job_queries.h"
#include "storage/readers.h"
#include "storage/sqlite.h"

namespace millrace::storage {
namespace {

std::int64_t count_queued(Db& db, schemas::Kind kind) {
  auto ready = db.prepare(
      "SELECT count(*) FROM (SELECT 1 FROM jobs WHERE status = 0 AND run_at = 0 AND kind = ?1 LIMIT ?2)");
  ready.bind(kind, kDepthMax).step();
  auto delayed = db.prepare(
      "SELECT count(*) FROM (SELECT 1 FROM jobs WHERE status = 0 AND run_at > 0 AND run_at < "
      "9223372036854775807 AND kind = ?1 LIMIT ?2)");
  delayed.bind(kind, kDepthMax).step();
  return ready.integer(0) + delayed.integer(0);
}

std::int64_t count_running(Db& db, schemas::Kind kind) {
  auto s = db.prepare("SELECT count(*) FROM jobs WHERE status = 1 AND kind = ?1");
  s.bind(kind).step();
  return s.integer(0);
}

std::int64_t count_waiting(Db& db, schemas::Kind kind) {
  auto s = db.prepare("SELECT count(*) FROM jobs WHERE status = 2 AND kind = ?1");
  s.bind(kind).step();
  return s.integer(0);
}

// Examines the first job of each (tenant, priority) queue; the oldest job is among them. Each costs one seek
// in jobs_ready.
std::optional<base::WallTime> oldest_ready(Db& db, schemas::Kind kind) {
  std::optional<base::WallTime> oldest;
  std::string tenant;
  std::optional<std::int64_t> priority;
  while (true) {
    auto lower = db.prepare(
        "SELECT tenant, priority, created_at FROM jobs WHERE status = 0 AND run_at = 0 AND kind = ?1 AND "
        "tenant = ?2 AND priority < ?3 ORDER BY priority DESC, id LIMIT 1");
    auto next = db.prepare(
        "SELECT tenant, priority, created_at FROM jobs WHERE status = 0 AND run_at = 0 AND kind = ?1 AND "
        "tenant > ?2 ORDER BY tenant, priority DESC, id LIMIT 1");
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
    for (schemas::Kind kind : schemas::kKinds) {
      depths.push_back({kind, count_queued(db, kind), count_running(db, kind), count_waiting(db, kind),
                        oldest_ready(db, kind)});
    }
  });
  if (!status) return status.error();
  return depths;
}

}  // namespace millrace::storage
