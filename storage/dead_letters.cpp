#include <algorithm>
#include <functional>
#include <utility>

#include "storage/admin_queries.h"
#include "storage/job_views.h"
#include "storage/kind_rules.h"
#include "storage/readers.h"
#include "storage/sqlite.h"

namespace millrace::storage {
namespace {

struct DeadCount {
  schemas::Kind kind{};
  std::string code;
  std::int64_t jobs = 0;
  base::Uuid newest;
};

// All that failed and is kept, in one walk over an index.
std::vector<DeadCount> count_dead(Db& db) {
  auto s = db.prepare(
      "SELECT kind, error_code, count(*), max(id) FROM jobs INDEXED BY jobs_ended_badly WHERE status >= 4 "
      "AND "
      "status = 4 AND parent_id IS NULL GROUP BY kind, error_code");
  std::vector<DeadCount> counts;
  while (s.step()) {
    const auto kind = static_cast<schemas::Kind>(s.integer(0));
    if (kind_rules(kind).internal) continue;
    counts.push_back({kind, s.is_null(1) ? std::string() : s.text(1), s.integer(2), s.uuid(3)});
  }
  return counts;
}

}  // namespace

base::Result<std::vector<DeadGroup>> AdminQueries::dead() {
  std::vector<DeadGroup> groups;
  auto status = store_.readers().read([&](Db& db) {
    for (DeadCount& count : count_dead(db)) {
      auto newest = find_named_view(db, count.newest, store_.options());
      if (newest) groups.push_back({count.kind, std::move(count.code), count.jobs, std::move(*newest)});
    }
  });
  if (!status) return status.error();
  std::ranges::stable_sort(groups, std::greater<>(), &DeadGroup::jobs);
  return groups;
}

}  // namespace millrace::storage
