#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "storage/job_queries.h"
#include "storage/job_views.h"
#include "storage/readers.h"

namespace millrace::storage {
namespace {

using schemas::JobStatus;

// A page is looked for in steps, each a read transaction of its own: a filter that matches nothing in a
// million rows must hold no snapshot while it looks.
constexpr int kRowsPerRead = 10'000;
// An id is made before its row, by at most this (the writer's queue). It may also be later than its row's
// time: ids never step back, and the wall clock does. So ids bound `created_after` only.
constexpr std::chrono::minutes kIdLead{5};

// The smallest id that a UUIDv7 of this millisecond can have.
base::Uuid first_id_of(base::WallTime t) {
  std::array<std::uint8_t, 16> bytes{};
  auto ms = static_cast<std::uint64_t>(std::max<std::int64_t>(0, base::millis(t)));
  for (std::size_t i = 6; i-- > 0; ms >>= 8) bytes[i] = static_cast<std::uint8_t>(ms & 0xFF);
  return base::Uuid(bytes);
}

base::Uuid last_id() {
  std::array<std::uint8_t, 16> bytes{};
  bytes.fill(0xFF);
  return base::Uuid(bytes);
}

// Where the walk over a tenant's ids is, newest first.
struct Walk {
  base::Uuid before = last_id();  // ids below it
  base::Uuid from{};              // not below this one
  int rows_left = 0;              // that may still be looked at
  bool finished = false;          // there are no more
};

Walk start(const JobFilter& filter, std::optional<base::Uuid> before, int rows_max) {
  Walk walk;
  walk.rows_left = rows_max;
  if (before) walk.before = *before;
  if (filter.created_after) walk.from = first_id_of(*filter.created_after - kIdLead);
  return walk;
}

// What a filter asks of a row.
struct Candidate {
  schemas::JobId id;
  JobStatus status;
  std::string model;
  base::WallTime created_at;
};

bool matches(const Candidate& job, const JobFilter& filter) {
  return (!filter.kind || job.id.kind == *filter.kind) &&
         (!filter.status || schemas::public_name(job.status) == *filter.status) &&
         (!filter.model || job.model == *filter.model) &&
         (!filter.created_after || job.created_at >= *filter.created_after) &&
         (!filter.created_before || job.created_at < *filter.created_before) &&
         (filter.id_contains.empty() || job.id.str().find(filter.id_contains) != std::string::npos);
}

// One step of the walk: fills `items` up to `wanted`.
void walk_some(Db& db, const std::string& tenant, const JobFilter& filter, const Store::Options& options,
               Walk& walk, std::size_t wanted, std::vector<schemas::JobView>& items) {
  auto s = db.prepare(
      "SELECT id, kind, status, model, created_at FROM jobs WHERE tenant = ?1 AND parent_id IS NULL "
      "AND id < ?2 AND id >= ?3 ORDER BY id DESC LIMIT ?4");
  const base::Uuid before = walk.before;  // bound by reference
  const int rows_max = std::min(kRowsPerRead, walk.rows_left);
  s.bind(tenant, before, walk.from, rows_max);
  int rows = 0;
  while (items.size() < wanted && s.step()) {
    ++rows;
    walk.before = s.uuid(0);
    const Candidate job{{static_cast<schemas::Kind>(s.integer(1)), walk.before},
                        static_cast<JobStatus>(s.integer(2)),
                        s.text(3),
                        base::wall_from(s.integer(4))};
    if (!matches(job, filter)) continue;
    if (auto view = find_view(db, walk.before, options)) items.push_back(std::move(*view));
  }
  walk.rows_left -= rows;
  walk.finished = rows < rows_max && items.size() < wanted;
}

}  // namespace

base::Result<JobPage> JobQueries::list(const std::string& tenant, const JobFilter& filter, int limit,
                                       std::optional<base::Uuid> before, int rows_max) {
  JobPage page;
  if (limit <= 0) return page;
  const auto wanted = static_cast<std::size_t>(limit) + 1;  // one more: is there a next page?
  Walk walk = start(filter, before, rows_max);
  while (page.items.size() < wanted && walk.rows_left > 0 && !walk.finished) {
    auto status = store_.readers().read(
        [&](Db& db) { walk_some(db, tenant, filter, store_.options(), walk, wanted, page.items); });
    if (!status) return status.error();
  }
  if (page.items.size() == wanted) {
    page.items.pop_back();
    page.next = page.items.back().id.uuid;
  } else if (!walk.finished) {
    page.next = walk.before;
  }
  return page;
}

}  // namespace millrace::storage
