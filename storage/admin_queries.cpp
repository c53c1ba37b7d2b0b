#include "storage/admin_queries.h"

#include <algorithm>
#include <charconv>

#include "storage/kind_rules.h"
#include "storage/readers.h"
#include "storage/sqlite.h"
#include "storage/worker_rows.h"

namespace millrace::storage {
namespace {

using schemas::JobStatus;
using std::chrono::milliseconds;

constexpr std::chrono::minutes kHour{60};
constexpr std::chrono::hours kDay{24};

// What is gathered of a kind while its rows are read.
struct Gathering {
  KindEnds ends;
  std::vector<milliseconds> waits{}, runs{};
};

struct EndedJob {
  schemas::Kind kind;
  JobStatus status;
  base::WallTime created_at, completed_at;
  std::optional<base::WallTime> started_at;
};

void count(EndCounts& counts, JobStatus status) {
  switch (status) {
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

// Which bar an end is part of; none: it lies before them.
std::optional<std::size_t> minute_bar(base::WallTime ended, base::WallTime now) {
  using std::chrono::minutes;
  const auto ago =
      std::max(minutes(0), std::chrono::floor<minutes>(now) - std::chrono::floor<minutes>(ended));
  if (ago >= minutes(kEndMinutes)) return std::nullopt;
  return kEndMinutes - 1 - static_cast<std::size_t>(ago.count());
}

void gather(Gathering& into, const EndedJob& job, base::WallTime now) {
  const auto age = between(job.completed_at, now);
  count(into.ends.day, job.status);
  if (age >= kHour) return;
  count(into.ends.hour, job.status);
  if (age < std::chrono::minutes(1)) count(into.ends.minute, job.status);
  const auto bar = minute_bar(job.completed_at, now);
  if (bar && job.status == JobStatus::kSucceeded) ++into.ends.good[*bar];
  if (bar && (job.status == JobStatus::kFailed || job.status == JobStatus::kExpired)) ++into.ends.bad[*bar];
  if (!job.started_at) return;
  into.waits.push_back(between(job.created_at, *job.started_at));
  into.runs.push_back(between(*job.started_at, job.completed_at));
}

std::optional<milliseconds> rank(std::vector<milliseconds>& sorted, std::size_t percent) {
  if (sorted.empty()) return std::nullopt;
  const std::size_t nearest = (sorted.size() * percent + 99) / 100;
  return sorted[std::max<std::size_t>(nearest, 1) - 1];
}

Spread spread_of(std::vector<milliseconds>& values) {
  std::sort(values.begin(), values.end());
  return {.p50 = rank(values, 50), .p95 = rank(values, 95)};
}

EndedJob ended_at(const Statement& row) {
  EndedJob job{static_cast<schemas::Kind>(row.integer(0)), static_cast<JobStatus>(row.integer(1)),
               base::wall_from(row.integer(2)), base::wall_from(row.integer(3)), std::nullopt};
  if (const auto started = row.optional_integer(4)) job.started_at = base::wall_from(*started);
  return job;
}

// The newest `rows_max` that have ended since then. `stripped` leads the index: what retention has taken the
// result of lies apart.
std::vector<EndedJob> ended_since(Db& db, bool stripped, base::WallTime since, int rows_max) {
  std::vector<EndedJob> jobs;
  auto s = db.prepare(
      "SELECT kind, status, created_at, completed_at, started_at FROM jobs WHERE status >= 3 AND parent_id "
      "IS "
      "NULL AND stripped = ?1 AND completed_at >= ?2 ORDER BY completed_at DESC LIMIT ?3");
  s.bind(stripped, base::millis(since), rows_max);
  while (s.step()) jobs.push_back(ended_at(s));
  return jobs;
}

std::vector<Gathering> gatherings() {
  std::vector<Gathering> out;
  for (const schemas::Kind kind : schemas::kKinds) {
    if (!kind_rules(kind).internal) out.push_back({.ends = {.kind = kind}});
  }
  return out;
}

WorkerView worker_at(const Statement& row, base::WallTime now) {
  WorkerView worker{.name = row.text(0),
                    .host = row.text(1),
                    .version = row.text(2),
                    .seen_at = base::wall_from(row.integer(3)),
                    .draining = row.integer(4) != 0};
  worker.live = between(worker.seen_at, now) < kWorkerAlive;
  return worker;
}

// [[partition, tokens], …]: two numbers, then the next two.
std::vector<PartitionLag> lags_in(std::string_view text) {
  std::vector<std::int64_t> numbers;
  for (const char* at = text.data(); at != text.data() + text.size();) {
    std::int64_t number = 0;
    const auto [end, failed] = std::from_chars(at, text.data() + text.size(), number);
    if (failed == std::errc()) numbers.push_back(number);
    at = failed == std::errc() ? end : at + 1;
  }
  std::vector<PartitionLag> lags;
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

base::Result<RecentEnds> AdminQueries::ends(int rows_max) {
  const base::WallTime now = store_.clock().wall();
  RecentEnds out{.at = now};
  std::vector<Gathering> kinds = gatherings();
  auto status = store_.readers().read([&](Db& db) {
    for (const bool stripped : {false, true}) {
      const auto jobs = ended_since(db, stripped, now - kDay, rows_max);
      for (const EndedJob& job : jobs) {
        const auto found = std::find_if(kinds.begin(), kinds.end(),
                                        [&](const Gathering& g) { return g.ends.kind == job.kind; });
        if (found != kinds.end()) gather(*found, job, now);
      }
      const bool cut = jobs.size() == static_cast<std::size_t>(rows_max);
      if (cut) out.since = std::max(out.since.value_or(base::WallTime::min()), jobs.back().completed_at);
    }
  });
  if (!status) return status.error();
  for (Gathering& kind : kinds) {
    kind.ends.wait = spread_of(kind.waits);
    kind.ends.run = spread_of(kind.runs);
    out.kinds.push_back(kind.ends);
  }
  return out;
}

base::Result<std::vector<WorkerView>> AdminQueries::workers() {
  const base::WallTime now = store_.clock().wall();
  std::vector<WorkerView> workers;
  auto status = store_.readers().read([&](Db& db) {
    auto s = db.prepare("SELECT name, host, version, seen_at, draining FROM workers ORDER BY name");
    while (s.step()) workers.push_back(worker_at(s, now));
    for (WorkerView& worker : workers) add_slots(db, worker);
  });
  if (!status) return status.error();
  return workers;
}

}  // namespace millrace::storage
