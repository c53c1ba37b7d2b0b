#include "storage/fresh_deadlines.h"

#include <algorithm>

#include "schemas/job.h"
#include "storage/kind_rules.h"

namespace millrace::storage {
namespace {

constexpr std::int64_t kBeforeAllKinds = -1;
// SQL uses it as a literal, here and in the index, so that the partial index applies.
static_assert(std::chrono::milliseconds(kFreshDeadline).count() == 86'400'000);

}  // namespace

// The untouched jobs of one queue that are due, oldest first. It stops reading at the first job that is
// younger.
void FreshDeadlines::add_due(Db& db, const Head& queue, base::WallTime now, std::size_t limit,
                             std::vector<base::Uuid>& ids) {
  auto s = db.prepare(
      "SELECT id, created_at, version = 1 AND deadline = created_at + 86400000 AND parent_id IS NULL FROM "
      "jobs INDEXED BY jobs_ready WHERE status = 0 AND run_at = 0 AND kind = ?1 AND tenant = ?2 AND priority "
      "= "
      "?3 ORDER BY id");
  s.bind(queue.kind, queue.tenant, queue.priority);
  while (ids.size() < limit && s.step() && base::wall_from(s.integer(1)) + kFreshDeadline <= now) {
    if (s.integer(2) != 0) ids.push_back(s.uuid(0));
  }
}

bool FreshDeadlines::any_queued(Db& db) {
  return std::any_of(schemas::kKinds.begin(), schemas::kKinds.end(), [&db](schemas::Kind kind) {
    if (kind_rules(kind).internal)
      return false;  // internal jobs have index entries: a machine operation's deadline is not a day
    auto s = db.prepare("SELECT 1 FROM jobs WHERE status = 0 AND run_at = 0 AND kind = ?1 LIMIT 1");
    return s.bind(kind).step();
  });
}

base::WallTime FreshDeadlines::next_look(base::BootTime boot) const {
  const std::lock_guard lock(mutex_);
  const bool old = !looked_at_ || boot - *looked_at_ >= kLookAtLeast;
  return old || at_ ? base::WallTime() : next_look_;
}

bool FreshDeadlines::is_time(base::WallTime now, base::BootTime boot) const {
  return at_ || now >= next_look_ || !looked_at_ || boot - *looked_at_ >= kLookAtLeast;
}

std::vector<base::Uuid> FreshDeadlines::due(Db& db, base::WallTime now, base::BootTime boot, int limit) {
  std::vector<base::Uuid> ids;
  const auto wanted = static_cast<std::size_t>(std::max(limit, 0));
  const std::lock_guard lock(mutex_);
  if (!is_time(now, boot)) return ids;
  for (int heads = 0; heads < kHeadsPerLook; ++heads) {
    auto head = next_head(db);
    if (!head) {
      end_lap(now, boot);
      break;
    }
    first_due_ = std::min(first_due_.value_or(head->due), head->due);
    if (head->due <= now) add_due(db, *head, now, wanted, ids);
    if (ids.size() >= wanted) break;  // the next step starts with this queue
    at_ = std::move(head);
  }
  return ids;
}

// A job that is due remains the earliest deadline. So the next scan begins at once, until no job is due.
void FreshDeadlines::end_lap(base::WallTime now, base::BootTime boot) {
  next_look_ = first_due_.value_or(now + kFreshDeadline);
  first_due_.reset();
  at_.reset();
  looked_at_ = boot;
}

// The next queue: a lower priority of the same tenant, else the next tenant, else the next kind.
std::optional<FreshDeadlines::Head> FreshDeadlines::next_head(Db& db) const {
  const auto read = [](const Statement& s) {
    return Head{s.integer(0), s.text(1), s.integer(2), base::wall_from(s.integer(3)) + kFreshDeadline};
  };
  if (at_) {
    auto lower = db.prepare(
        "SELECT kind, tenant, priority, created_at FROM jobs INDEXED BY jobs_ready WHERE status = 0 AND "
        "run_at = 0 AND kind = ?1 AND tenant = ?2 AND priority < ?3 ORDER BY priority DESC, id LIMIT 1");
    if (lower.bind(at_->kind, at_->tenant, at_->priority).step()) return read(lower);
    auto beside = db.prepare(
        "SELECT kind, tenant, priority, created_at FROM jobs INDEXED BY jobs_ready WHERE status = 0 AND "
        "run_at = 0 AND kind = ?1 AND tenant > ?2 ORDER BY tenant, priority DESC, id LIMIT 1");
    if (beside.bind(at_->kind, at_->tenant).step()) return read(beside);
  }
  auto next = db.prepare(
      "SELECT kind, tenant, priority, created_at FROM jobs INDEXED BY jobs_ready WHERE status = 0 AND run_at "
      "= 0 AND kind > ?1 ORDER BY kind, tenant, priority DESC, id LIMIT 1");
  if (next.bind(at_ ? at_->kind : kBeforeAllKinds).step()) return read(next);
  return std::nullopt;
}

}  // namespace millrace::storage
