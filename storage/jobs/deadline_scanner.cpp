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

// Adds the untouched jobs of one queue that are due, oldest first. It stops reading at the first job that is
// younger. False: a limit of the step was reached; the next step continues there.
bool DeadlineScanner::read_queue(Db& db, const Head& queue, const base::Uuid& from, Step& step) {
  auto s = db.prepare(R"(
      SELECT id, created_at - jumped_ms, version = 1 AND deadline = created_at + {default_deadline_ms}
          AND parent_id IS NULL
      FROM jobs INDEXED BY jobs_ready
      WHERE status = {queued} AND run_at = 0 AND kind = ?1 AND tenant = ?2 AND priority = ?3 AND id >= ?4
      ORDER BY id)"_sql);
  s.bind(queue.kind, queue.tenant, queue.priority, from);
  while (s.step()) {
    if (step.ids.size() >= step.jobs_max || step.jobs_left_to_read-- <= 0) {
      at_ = Position{queue, s.uuid(0)};
      return false;
    }
    const base::WallTime due = base::wall_from(s.integer(1)) + schemas::kDefaultJobDeadline;
    const bool is_young = due > step.now, is_untouched = s.integer(2) != 0;
    if (is_young || is_untouched) add_open(s.uuid(0), due);
    if (is_young) break;
    if (is_untouched) step.ids.push_back(s.uuid(0));
  }
  at_ = Position{queue, {}};
  return true;
}

void DeadlineScanner::add_open(const base::Uuid& id, base::WallTime due) {
  first_open_ = std::min(first_open_.value_or(id), id);
  first_due_ = std::min(first_due_.value_or(due), due);
}

bool DeadlineScanner::any_queued(Db& db) {
  return std::any_of(schemas::kKinds.begin(), schemas::kKinds.end(), [&db](schemas::Kind kind) {
    if (kind_rules(kind).internal)
      return false;  // internal jobs have index entries: a machine operation's deadline is not a day
    // From the end of the index: at its front are the rows that an old snapshot keeps.
    auto s = db.prepare(R"(
        SELECT 1 FROM jobs WHERE status = {queued} AND run_at = 0 AND kind = ?1
        ORDER BY tenant DESC, priority, id DESC LIMIT 1)"_sql);
    return s.bind(kind).step();
  });
}

std::optional<base::WallTime> DeadlineScanner::next_scan(base::BootTime boot) const {
  const std::lock_guard lock(mutex_);
  if (is_scanning_ || is_scan_from_start_due(boot)) return std::nullopt;
  return next_scan_;
}

bool DeadlineScanner::is_scan_from_start_due(base::BootTime boot) const {
  return !from_start_at_ || boot - *from_start_at_ >= kScanInterval;
}

std::vector<base::Uuid> DeadlineScanner::due(Db& db, base::WallTime now, base::BootTime boot, int limit) {
  Step step{.now = now, .jobs_max = static_cast<std::size_t>(std::max(limit, 0)), .ids = {}};
  const std::lock_guard lock(mutex_);
  if (!is_scanning_ && now < next_scan_ && !is_scan_from_start_due(boot)) return {};
  if (!is_scanning_) begin_scan(boot);
  for (int heads = 0; heads < kHeadsPerScan; ++heads) {
    const std::optional<Position> partly_read = at_ && at_->next ? at_ : std::nullopt;
    const auto head = partly_read ? partly_read->queue : next_head(db);
    if (!head) {
      end_scan(now);
      break;
    }
    if (head->due > now) {
      add_open(head->id, head->due);
      at_ = Position{*head, {}};
    } else if (!read_queue(db, *head, partly_read ? *partly_read->next : first_id_, step)) {
      break;
    }
  }
  return std::move(step.ids);
}

void DeadlineScanner::begin_scan(base::BootTime boot) {
  is_scanning_ = true;
  first_due_.reset();
  first_open_.reset();
  if (!is_scan_from_start_due(boot)) return;
  from_start_at_ = boot;
  first_id_ = {};
}

// A job that is due remains the earliest deadline. So the next scan begins at once, until no job is due.
void DeadlineScanner::end_scan(base::WallTime now) {
  is_scanning_ = false;
  next_scan_ = first_due_.value_or(now + schemas::kDefaultJobDeadline);
  first_id_ = first_open_.value_or(first_id_);
  at_.reset();
}

// The next queue: a lower priority of the same tenant, else the next tenant, else the next kind.
std::optional<DeadlineScanner::Head> DeadlineScanner::next_head(Db& db) const {
  const auto read = [](const Statement& s) {
    return Head{s.integer(0), s.text(1), s.integer(2), s.uuid(3),
                base::wall_from(s.integer(4)) + schemas::kDefaultJobDeadline};
  };
  if (at_) {
    const Head& last = at_->queue;
    auto lower = db.prepare(R"(
        SELECT kind, tenant, priority, id, created_at - jumped_ms FROM jobs INDEXED BY jobs_ready
        WHERE status = {queued} AND run_at = 0 AND kind = ?1 AND tenant = ?2 AND priority < ?3
        ORDER BY priority DESC, id LIMIT 1)"_sql);
    if (lower.bind(last.kind, last.tenant, last.priority).step()) return read(lower);
    auto next_tenant = db.prepare(R"(
        SELECT kind, tenant, priority, id, created_at - jumped_ms FROM jobs INDEXED BY jobs_ready
        WHERE status = {queued} AND run_at = 0 AND kind = ?1 AND tenant > ?2
        ORDER BY tenant, priority DESC, id LIMIT 1)"_sql);
    if (next_tenant.bind(last.kind, last.tenant).step()) return read(next_tenant);
  }
  auto next = db.prepare(R"(
      SELECT kind, tenant, priority, id, created_at - jumped_ms FROM jobs INDEXED BY jobs_ready
      WHERE status = {queued} AND run_at = 0 AND kind > ?1
      ORDER BY kind, tenant, priority DESC, id LIMIT 1)"_sql);
  if (next.bind(at_ ? at_->queue.kind : kBeforeAllKinds).step()) return read(next);
  return std::nullopt;
}

}  // namespace millrace::storage
