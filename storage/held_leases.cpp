#include <algorithm>
#include <tuple>
#include <utility>

#include "storage/admin_queries.h"
#include "storage/readers.h"
#include "storage/sqlite.h"
#include "storage/worker_rows.h"

namespace millrace::storage {
namespace {

// An entry of the index of leases.
struct LeaseEntry {
  base::Uuid job;
  std::optional<std::chrono::milliseconds> remaining{};
};

struct LeasesOfWorker {
  WorkerLeases told;
  std::vector<LeaseEntry> shown{};  // those that end first
};

LeasesOfWorker& leases_of(std::vector<LeasesOfWorker>& all, const std::string& worker) {
  auto found =
      std::ranges::find_if(all, [&](const LeasesOfWorker& each) { return each.told.worker == worker; });
  if (found == all.end()) found = all.insert(all.end(), {.told = {.worker = worker}});
  return *found;
}

void add_leases(Statement& s, std::optional<base::BootTime> now, std::vector<LeasesOfWorker>& all) {
  while (s.step()) {
    LeasesOfWorker& of = leases_of(all, s.is_null(1) ? std::string() : s.text(1));
    ++of.told.held;
    if (of.shown.size() == kLeasesShownMax) continue;
    LeaseEntry entry{.job = s.uuid(0)};
    if (now) entry.remaining = base::boot_from(s.integer(2)) - *now;
    of.shown.push_back(entry);
  }
}

// Over an index that has an entry for each job that runs. Those of another boot are over.
std::vector<LeasesOfWorker> walk_leases(Db& db, std::int64_t boot, base::BootTime now) {
  std::vector<LeasesOfWorker> all;
  auto over = db.prepare(
      "SELECT id, worker, lease_until FROM jobs INDEXED BY jobs_running WHERE status = 1 AND lease_boot <> "
      "?1");
  over.bind(boot);
  add_leases(over, std::nullopt, all);
  auto live = db.prepare(
      "SELECT id, worker, lease_until FROM jobs INDEXED BY jobs_running WHERE status = 1 AND lease_boot = ?1 "
      "ORDER BY lease_until");
  live.bind(boot);
  add_leases(live, now, all);
  return all;
}

// When a later attempt of a job began, if that is among its newest events: those of parts are not kept.
std::optional<base::WallTime> attempt_began(Db& db, const base::Uuid& job) {
  auto s = db.prepare(
      "SELECT at FROM (SELECT at, type, version FROM job_events WHERE job = ?1 ORDER BY version DESC LIMIT "
      "?2) "
      "WHERE type = 'running' ORDER BY version DESC LIMIT 1");
  if (!s.bind(job, kEventsLookedAtMax).step()) return std::nullopt;
  return base::wall_from(s.integer(0));
}

std::optional<HeldLease> lease_shown(Db& db, const LeaseEntry& entry) {
  auto s = db.prepare(
      "SELECT kind, tenant, attempt, started_at, parent_id, child_index FROM jobs WHERE id = ?1 AND status = "
      "1");
  if (!s.bind(entry.job).step()) return std::nullopt;
  const auto parent = s.optional_uuid(4);
  HeldLease held{.job = {static_cast<schemas::Kind>(s.integer(0)), parent.value_or(entry.job)},
                 .tenant = s.text(1),
                 .attempt = static_cast<int>(s.integer(2)),
                 .remaining = entry.remaining};
  if (parent) held.part = static_cast<int>(s.integer(5));
  const auto started = s.optional_integer(3);
  if (held.attempt == 1 && started) held.since = base::wall_from(*started);
  if (held.attempt > 1 && !parent) held.since = attempt_began(db, entry.job);
  return held;
}

// In an order that renewals do not change.
std::vector<HeldLease> leases_shown(Db& db, const std::vector<LeaseEntry>& entries) {
  std::vector<HeldLease> shown;
  for (const LeaseEntry& entry : entries) {
    if (auto held = lease_shown(db, entry)) shown.push_back(std::move(*held));
  }
  std::ranges::sort(shown, [](const HeldLease& a, const HeldLease& b) {
    return std::tie(a.job.uuid, a.part) < std::tie(b.job.uuid, b.part);
  });
  return shown;
}

}  // namespace

base::Result<std::vector<WorkerLeases>> AdminQueries::leases() {
  const std::int64_t boot = boot_number(store_.clock().boot_id());
  const base::BootTime now = store_.clock().boot();
  std::vector<WorkerLeases> out;
  auto status = store_.readers().read([&](Db& db) {
    for (LeasesOfWorker& of : walk_leases(db, boot, now)) {
      of.told.leases = leases_shown(db, of.shown);
      out.push_back(std::move(of.told));
    }
  });
  if (!status) return status.error();
  return out;
}

}  // namespace millrace::storage
