#include <algorithm>

#include "storage/blob_rows.h"
#include "storage/job_upkeep.h"
#include "storage/readers.h"
#include "storage/worker_rows.h"

namespace millrace::storage {
namespace {

std::optional<std::int64_t> first_retry(Db& db) {
  auto s = db.prepare(
      "SELECT min(run_at) FROM jobs WHERE status = 0 AND run_at > 0 AND run_at < 9223372036854775807");
  s.step();
  return s.optional_integer(0);
}

std::optional<std::int64_t> first_deadline(Db& db) {
  auto s = db.prepare(
      "SELECT min(deadline) FROM jobs WHERE status IN (0, 2) AND parent_id IS NULL AND (version > 1 OR "
      "run_at > 0 OR deadline <> created_at + 86400000)");
  s.step();
  return s.optional_integer(0);
}

// In boot-clock time; 0 if there is a lease of another boot, which has ended.
std::optional<std::int64_t> first_lease(Db& db, std::int64_t boot) {
  auto other =
      db.prepare("SELECT 1 FROM jobs WHERE status = 1 AND (lease_boot < ?1 OR lease_boot > ?1) LIMIT 1");
  if (other.bind(boot).step()) return 0;
  auto s = db.prepare("SELECT min(lease_until) FROM jobs WHERE status = 1 AND lease_boot = ?1");
  s.bind(boot).step();
  return s.optional_integer(0);
}

}  // namespace

base::Result<std::optional<base::WallTime>> JobUpkeep::next_due(std::chrono::milliseconds lease) {
  const base::Clock& clock = store_.clock();
  const std::int64_t wall_minus_boot = base::millis(clock.wall()) - base::millis(clock.boot());
  const std::int64_t latest_end = base::millis(clock.boot() + lease);  // no lease ends later
  std::optional<std::int64_t> due;
  const auto take = [&](std::optional<std::int64_t> t) {
    if (t) due = std::min(due.value_or(*t), *t);
  };
  auto status = store_.readers().read([&](Db& db) {
    take(first_retry(db));
    take(first_deadline(db));
    if (FreshDeadlines::any_queued(db)) take(base::millis(fresh_->next_look(clock.boot())));
    if (const auto end = first_lease(db, boot_number(clock.boot_id()))) {
      take(std::min(*end + 1, latest_end) + wall_minus_boot);
    }
  });
  if (!status) return status.error();
  if (!due) return std::optional<base::WallTime>();
  return std::optional(base::wall_from(*due));
}

bool JobUpkeep::blob_is_named(const std::string& path) {
  bool named = true;  // if the read fails, the file is kept
  const auto status = store_.readers().read([&](Db& db) { named = names_path(db, path); });
  return named || !status;
}

}  // namespace millrace::storage
