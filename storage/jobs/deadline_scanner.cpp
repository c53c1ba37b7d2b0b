#include "storage/jobs/deadline_scanner.h"

#include <algorithm>

#include "schemas/jobs/job.h"
#include "storage/jobs/kind_rules.h"
#include "storage/sql.h"

namespace millrace::storage {
namespace {

constexpr std::int64_t kBeforeAllKinds = -1;
// The index jobs_deadline (storage/migrations/0010_fresh_deadlines.sql) contains this number. Another value
// needs a migration.
static_assert(std::chrono::milliseconds(schemas::kDefaultJobDeadline).count() == 86'400'000);

}  // namespace

// The untouched jobs of one queue that are due, oldest first. It stops reading at the first job that is
// younger.
void DeadlineScanner::add_due_jobs(Db& db, const Head& queue, base::WallTime now, std::size_t limit,
                                   std::vector<base::Uuid>& ids) {
  auto s = db.prepare(R"(
      SELECT id, created_at, version = 1 AND deadline = created_at + {default_deadline_ms}
          AND parent_id IS NULL
      FROM jobs INDEXED BY jobs_ready
      WHERE status = {queued} AND run_at = 0 AND kind = ?1 AND tenant = ?2 AND priority = ?3
      ORDER BY id)"_sql);
  s.bind(queue.kind, queue.tenant, queue.priority);
  while (ids.size() < limit && s.step() &&
         base::wall_from(s.integer(1)) + schemas::kDefaultJobDeadline <= now) {
    if (s.integer(2) != 0) ids.push_back(s.uuid(0));
  }
}

bool DeadlineScanner::any_queued(Db& db) {
  return std::any_of(schemas::kKinds.begin(), schemas::kKinds.end(), [&db](schemas::Kind kind) {
    if (kind_rules(kind).internal)
      return false;  // internal jobs have index entries: a machine operation's deadline is not a day
    auto s =
        db.prepare("SELECT 1 FROM jobs WHERE status = {queued} AND run_at = 0 AND kind = ?1 LIMIT 1"_sql);
    return s.bind(kind).step();
  });
}

base::WallTime DeadlineScanner::next_scan(base::BootTime boot) const {
  const std::lock_guard lock(mutex_);
  const bool old = !scanned_at_ || boot - *scanned_at_ >= kScanInterval;
  return old || at_ ? base::WallTime() : next_scan_;
}

bool DeadlineScanner::is_scan_due(base::WallTime now, base::BootTime boot) const {
  return at_ || now >= next_scan_ || !scanned_at_ || boot - *scanned_at_ >= kScanInterval;
}

std::vector<base::Uuid> DeadlineScanner::due(Db& db, base::WallTime now, base::BootTime boot, int limit) {
  std::vector<base::Uuid> ids;
  const auto jobs_max = static_cast<std::size_t>(std::max(limit, 0));
  const std::lock_guard lock(mutex_);
  if (!is_scan_due(now, boot)) return ids;
  for (int heads = 0; heads < kHeadsPerScan; ++heads) {
    auto head = next_head(db);
    if (!head) {
      end_scan(now, boot);
      break;
    }
    first_due_ = std::min(first_due_.value_or(head->due), head->due);
    if (head->due <= now) add_due_jobs(db, *head, now, jobs_max, ids);
    if (ids.size() >= jobs_max) break;  // the next step starts with this queue
    at_ = std::move(head);
  }
  return ids;
}

// A job that is due remains the earliest deadline. So the next scan begins at once, until no job is due.
void DeadlineScanner::end_scan(base::WallTime now, base::BootTime boot) {
  next_scan_ = first_due_.value_or(now + schemas::kDefaultJobDeadline);
  first_due_.reset();
  at_.reset();
  scanned_at_ = boot;
}

// The next queue: a lower priority of the same tenant, else the next tenant, else the next kind.
std::optional<DeadlineScanner::Head> DeadlineScanner::next_head(Db& db) const {
  const auto read = [](const Statement& s) {
    return Head{s.integer(0), s.text(1), s.integer(2),
                base::wall_from(s.integer(3)) + schemas::kDefaultJobDeadline};
  };
  if (at_) {
    auto lower = db.prepare(R"(
        SELECT kind, tenant, priority, created_at FROM jobs INDEXED BY jobs_ready
        WHERE status = {queued} AND run_at = 0 AND kind = ?1 AND tenant = ?2 AND priority < ?3
        ORDER BY priority DESC, id LIMIT 1)"_sql);
    if (lower.bind(at_->kind, at_->tenant, at_->priority).step()) return read(lower);
    auto next_tenant = db.prepare(R"(
        SELECT kind, tenant, priority, created_at FROM jobs INDEXED BY jobs_ready
        WHERE status = {queued} AND run_at = 0 AND kind = ?1 AND tenant > ?2
        ORDER BY tenant, priority DESC, id LIMIT 1)"_sql);
    if (next_tenant.bind(at_->kind, at_->tenant).step()) return read(next_tenant);
  }
  auto next = db.prepare(R"(
      SELECT kind, tenant, priority, created_at FROM jobs INDEXED BY jobs_ready
      WHERE status = {queued} AND run_at = 0 AND kind > ?1
      ORDER BY kind, tenant, priority DESC, id LIMIT 1)"_sql);
  if (next.bind(at_ ? at_->kind : kBeforeAllKinds).step()) return read(next);
  return std::nullopt;
}

}  // namespace millrace::storage
