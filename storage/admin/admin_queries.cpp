#include "storage/admin/admin_queries.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <tuple>
#include <utility>

#include "storage/db/db.h"
#include "storage/jobs/job_list.h"
#include "storage/jobs/job_queries.h"
#include "storage/jobs/kind_rules.h"
#include "storage/sql.h"
#include "storage/workers/workers.h"
#include "storage/writer/readers.h"
#include "storage/writer/store_clock.h"

namespace millrace::storage {
namespace {

using schemas::JobStatus;
using std::chrono::milliseconds;

constexpr std::chrono::minutes kHour{60};
constexpr std::chrono::hours kDay{24};

// What is collected for a kind while its rows are read.
struct KindTotals {
  KindOutcomes outcomes;
  std::vector<milliseconds> waits{}, runs{};
};

struct EndedJob {
  schemas::Kind kind;
  JobStatus status;
  bool is_command_failure;
  base::WallTime waited_from, completed_at;  // a scheduled job waits from its run_at on
  std::optional<base::WallTime> started_at;
};

void count(OutcomeCounts& counts, const EndedJob& job) {
  if (job.is_command_failure) {
    ++counts.commands_failed;
    return;
  }
  switch (job.status) {
    case JobStatus::kSucceeded:
      ++counts.succeeded;
      break;
    case JobStatus::kFailed:
      ++counts.failed;
      break;
    case JobStatus::kCancelled:
      ++counts.cancelled;
      break;
    case JobStatus::kExpired:
      ++counts.expired;
      break;
    case JobStatus::kQueued:
    case JobStatus::kRunning:
    case JobStatus::kWaiting:
      break;
  }
}

milliseconds between(base::WallTime from, base::WallTime to) {
  return std::max(milliseconds(0), std::chrono::duration_cast<milliseconds>(to - from));
}

// The index of the minute in which a job ended; none: it is too old.
std::optional<std::size_t> minute_bar(base::WallTime ended, base::WallTime now) {
  using std::chrono::minutes;
  const auto ago =
      std::max(minutes(0), std::chrono::floor<minutes>(now) - std::chrono::floor<minutes>(ended));
  if (ago >= minutes(kOutcomeMinutes)) return std::nullopt;
  return kOutcomeMinutes - 1 - static_cast<std::size_t>(ago.count());
}

void add_outcome(KindTotals& into, const EndedJob& job, base::WallTime now) {
  const auto age = between(job.completed_at, now);
  count(into.outcomes.day, job);
  if (age >= kHour) return;
  count(into.outcomes.hour, job);
  if (age < std::chrono::minutes(1)) count(into.outcomes.minute, job);
  const auto bar = minute_bar(job.completed_at, now);
  if (bar && job.status == JobStatus::kSucceeded) ++into.outcomes.good[*bar];
  const bool is_bad = job.status == JobStatus::kFailed || job.status == JobStatus::kExpired;
  if (bar && is_bad && !job.is_command_failure) ++into.outcomes.bad[*bar];
  if (!job.started_at) return;
  into.waits.push_back(between(job.waited_from, *job.started_at));
  into.runs.push_back(between(*job.started_at, job.completed_at));
}

std::optional<milliseconds> rank(std::vector<milliseconds>& sorted, std::size_t percent) {
  if (sorted.empty()) return std::nullopt;
  const std::size_t nearest = (sorted.size() * percent + 99) / 100;
  return sorted[std::max<std::size_t>(nearest, 1) - 1];
}

Percentiles percentiles_of(std::vector<milliseconds>& values) {
  std::sort(values.begin(), values.end());
  return {.p50 = rank(values, 50), .p95 = rank(values, 95)};
}

EndedJob ended_at(const Statement& row) {
  EndedJob job{static_cast<schemas::Kind>(row.integer(0)),
               static_cast<JobStatus>(row.integer(1)),
               row.integer(5) != 0,
               base::wall_from(row.integer(2)),
               base::wall_from(row.integer(3)),
               std::nullopt};
  if (const auto started = row.optional_integer(4)) job.started_at = base::wall_from(*started);
  return job;
}

// The newest `rows_max` jobs that ended since then, by the present clock. `stripped` is the first column of
// the index: jobs whose results retention has deleted are in a separate range.
std::vector<EndedJob> ended_since(Db& db, bool stripped, base::WallTime since, int rows_max) {
  std::vector<EndedJob> jobs;
  auto s = db.prepare(R"(
      SELECT kind, status, max(created_at, deadline - {default_deadline_ms}) - jumped_ms + ?5,
          completed_at - jumped_ms + ?5, started_at - jumped_ms + ?5, error_code IS NOT DISTINCT FROM ?4
      FROM jobs
      WHERE status >= {first_terminal} AND parent_id IS NULL AND stripped = ?1
          AND completed_at - jumped_ms >= ?2
      ORDER BY completed_at - jumped_ms DESC LIMIT ?3)"_sql);
  const std::chrono::milliseconds jumped = clock_jumps(db);
  s.bind(stripped, base::millis(since - jumped), rows_max, base::name(base::Code::kCommandFailed),
         jumped.count());
  while (s.step()) jobs.push_back(ended_at(s));
  return jobs;
}

std::vector<KindTotals> empty_totals() {
  std::vector<KindTotals> out;
  for (const schemas::Kind kind : schemas::kKinds) {
    if (!kind_rules(kind).internal) out.push_back({.outcomes = {.kind = kind}});
  }
  return out;
}

// `boot`: the present boot and its time.
WorkerView worker_at(const Statement& row, std::int64_t boot, base::BootTime now) {
  WorkerView worker{.name = row.text(0),
                    .host = row.text(1),
                    .version = row.text(2),
                    .seen_at = base::wall_from(row.integer(3)),
                    .draining = row.integer(4) != 0};
  worker.live = row.integer(5) == boot && now - base::boot_from(row.integer(6)) < kWorkerTimeout;
  return worker;
}

// Parses [[partition, tokens], …].
std::vector<schemas::PartitionLag> lags_in(std::string_view text) {
  std::vector<std::int64_t> numbers;
  for (const char* at = text.data(); at != text.data() + text.size();) {
    std::int64_t number = 0;
    const auto [end, failed] = std::from_chars(at, text.data() + text.size(), number);
    if (failed == std::errc()) numbers.push_back(number);
    at = failed == std::errc() ? end : at + 1;
  }
  std::vector<schemas::PartitionLag> lags;
  for (std::size_t i = 0; i + 1 < numbers.size(); i += 2)
    lags.push_back({static_cast<int>(numbers[i]), numbers[i + 1]});
  return lags;
}

void add_slots(Db& db, WorkerView& worker) {
  auto s = db.prepare("SELECT kind, slots, used, lags FROM worker_slots WHERE worker = ?1 ORDER BY kind");
  s.bind(worker.name);
  while (s.step()) {
    const auto kind = static_cast<schemas::Kind>(s.integer(0));
    const std::string lags = s.is_null(3) ? std::string() : s.text(3);
    worker.slots.push_back(
        {kind, static_cast<int>(s.integer(1)), static_cast<int>(s.integer(2)), lags_in(lags)});
  }
}

}  // namespace

base::Result<RecentOutcomes> AdminQueries::outcomes(int rows_max) {
  const base::WallTime now = store_.clock().wall();
  RecentOutcomes out{.at = now};
  std::vector<KindTotals> kinds = empty_totals();
  auto status = store_.readers().read([&](Db& db) {
    for (const bool stripped : {false, true}) {
      const auto jobs = ended_since(db, stripped, now - kDay, rows_max);
      for (const EndedJob& job : jobs) {
        const auto found = std::find_if(kinds.begin(), kinds.end(),
                                        [&](const KindTotals& g) { return g.outcomes.kind == job.kind; });
        if (found != kinds.end()) add_outcome(*found, job, now);
      }
      const bool cut = jobs.size() == static_cast<std::size_t>(rows_max);
      if (cut) out.since = std::max(out.since.value_or(base::WallTime::min()), jobs.back().completed_at);
    }
  });
  if (!status) return status.error();
  for (KindTotals& kind : kinds) {
    kind.outcomes.wait = percentiles_of(kind.waits);
    kind.outcomes.run = percentiles_of(kind.runs);
    out.kinds.push_back(kind.outcomes);
  }
  return out;
}

base::Result<std::vector<WorkerView>> AdminQueries::workers() {
  const base::BootTime now = store_.clock().boot();
  const std::int64_t boot = boot_number(store_.clock().boot_id());
  std::vector<WorkerView> workers;
  auto status = store_.readers().read([&](Db& db) {
    auto s = db.prepare(
        "SELECT name, host, version, seen_at, draining, boot, seen_boot FROM workers ORDER BY name");
    while (s.step()) workers.push_back(worker_at(s, boot, now));
    for (WorkerView& worker : workers) add_slots(db, worker);
  });
  if (!status) return status.error();
  return workers;
}

namespace {

// An entry of the lease index.
struct LeaseEntry {
  base::Uuid job;
  std::optional<std::chrono::milliseconds> remaining{};
};

struct LeasesOfWorker {
  WorkerLeases summary;
  std::vector<LeaseEntry> shown{};  // the leases that end first
};

LeasesOfWorker& leases_of(std::vector<LeasesOfWorker>& all, const std::string& worker) {
  auto found =
      std::ranges::find_if(all, [&](const LeasesOfWorker& each) { return each.summary.worker == worker; });
  if (found == all.end()) found = all.insert(all.end(), {.summary = {.worker = worker}});
  return *found;
}

void add_leases(Statement& s, std::optional<base::BootTime> now, std::vector<LeasesOfWorker>& all) {
  while (s.step()) {
    LeasesOfWorker& of = leases_of(all, s.is_null(1) ? std::string() : s.text(1));
    ++of.summary.held;
    if (of.shown.size() == kLeasesShownMax) continue;
    LeaseEntry entry{.job = s.uuid(0)};
    if (now) entry.remaining = base::boot_from(s.integer(2)) - *now;
    of.shown.push_back(entry);
  }
}

// Reads an index with one entry per running job. Leases of another boot have expired.
std::vector<LeasesOfWorker> walk_leases(Db& db, std::int64_t boot, base::BootTime now) {
  std::vector<LeasesOfWorker> all;
  auto over = db.prepare(R"(
      SELECT id, worker, lease_until FROM jobs INDEXED BY jobs_running
      WHERE status = {running} AND lease_boot <> ?1)"_sql);
  over.bind(boot);
  add_leases(over, std::nullopt, all);
  auto live = db.prepare(R"(
      SELECT id, worker, lease_until FROM jobs INDEXED BY jobs_running
      WHERE status = {running} AND lease_boot = ?1
      ORDER BY lease_until)"_sql);
  live.bind(boot);
  add_leases(live, now, all);
  return all;
}

// The start of a later attempt, if it is among the job's newest events. Events of parts are not kept.
std::optional<base::WallTime> attempt_began(Db& db, const base::Uuid& job) {
  auto s = db.prepare(R"(
      SELECT at
      FROM (SELECT at, type, version FROM job_events WHERE job = ?1 ORDER BY version DESC LIMIT ?2) AS newest
      WHERE type = 'running'
      ORDER BY version DESC LIMIT 1)"_sql);
  if (!s.bind(job, kEventsExaminedMax).step()) return std::nullopt;
  return base::wall_from(s.integer(0));
}

std::optional<HeldLease> lease_shown(Db& db, const LeaseEntry& entry) {
  auto s = db.prepare(R"(
      SELECT kind, tenant, attempt, started_at, parent_id, child_index FROM jobs
      WHERE id = ?1 AND status = {running})"_sql);
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

// In an order that does not change with renewals.
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
      of.summary.leases = leases_shown(db, of.shown);
      out.push_back(std::move(of.summary));
    }
  });
  if (!status) return status.error();
  return out;
}

namespace {

struct FailureCount {
  schemas::Kind kind{};
  std::string code;
  std::int64_t jobs = 0;
  base::Uuid newest;
};

// All failed jobs that are kept and were not retried, in one scan of an index. A command's own exit code is
// its result.
std::vector<FailureCount> count_failures(Db& db) {
  auto s = db.prepare(R"(
      SELECT kind, error_code, count(*), max(id) FROM jobs INDEXED BY jobs_ended_badly
      WHERE status >= {first_unsuccessful} AND status = {failed} AND parent_id IS NULL
          AND error_code IS DISTINCT FROM ?1
          AND NOT EXISTS (SELECT 1 FROM jobs AS retry WHERE retry.retry_of = jobs.id)
      GROUP BY kind, error_code)"_sql);
  s.bind(base::name(base::Code::kCommandFailed));
  std::vector<FailureCount> counts;
  while (s.step()) {
    const auto kind = static_cast<schemas::Kind>(s.integer(0));
    if (kind_rules(kind).internal) continue;
    counts.push_back({kind, s.is_null(1) ? std::string() : s.text(1), s.integer(2), s.uuid(3)});
  }
  return counts;
}

}  // namespace

base::Result<std::vector<FailureGroup>> AdminQueries::failures() {
  std::vector<FailureGroup> groups;
  auto status = store_.readers().read([&](Db& db) {
    for (FailureCount& count : count_failures(db)) {
      auto newest = find_named_view(db, count.newest, store_.options());
      if (newest) groups.push_back({count.kind, std::move(count.code), count.jobs, std::move(*newest)});
    }
  });
  if (!status) return status.error();
  std::ranges::stable_sort(groups, std::greater<>(), &FailureGroup::jobs);
  return groups;
}

namespace {

// Also absent if the id belongs to another kind or a child.
std::optional<schemas::JobView> find_root_view(Db& db, const schemas::JobId& job,
                                               const Store::Options& options) {
  auto s = db.prepare("SELECT 1 FROM jobs WHERE id = ?1 AND kind = ?2 AND parent_id IS NULL");
  if (!s.bind(job.uuid, job.kind).step()) return std::nullopt;
  return find_named_view(db, job.uuid, options);
}

}  // namespace

base::Result<JobPage> AdminQueries::jobs(const JobFilter& filter, int limit, std::optional<base::Uuid> before,
                                         int rows_max) {
  return page_of_jobs(store_, filter, limit, before, rows_max);
}

base::Result<std::vector<schemas::JobView>> AdminQueries::jobs(const std::vector<schemas::JobId>& ids) {
  std::vector<schemas::JobView> found;
  auto status = store_.readers().read([&](Db& db) {
    for (const schemas::JobId& job : ids) {
      if (auto view = find_root_view(db, job, store_.options())) found.push_back(std::move(*view));
    }
  });
  if (!status) return status.error();
  return found;
}

}  // namespace millrace::storage
