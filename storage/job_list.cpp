#include <algorithm>
#include <utility>

#include "storage/ids_ahead.h"
#include "storage/job_candidates.h"
#include "storage/job_match.h"
#include "storage/job_queries.h"
#include "storage/job_views.h"
#include "storage/readers.h"

namespace millrace::storage {
namespace {

// The state of the search for one page.
class PageSearch {
 public:
  PageSearch(Store& store, const JobFilter& filter, JobWalk walk, std::size_t wanted)
      : store_(store), filter_(filter), walk_(walk), wanted_(wanted) {}

  bool goes_on() const { return !full() && walk_.rows_left > 0 && !walk_.finished; }

  // One step, in one read transaction.
  void step(Db& db) {
    if (!std::exchange(begun_, true) && filter_.created_before)
      begin_before(walk_, *filter_.created_before, ids_ahead(db));
    if (auto found = candidates(db, filter_, walk_, wanted_)) {
      look_at(db, *found);
    } else {
      walk_on(db);
    }
  }

  JobPage page() {
    JobPage out{std::move(items_), std::nullopt};
    if (out.items.size() == wanted_) {
      out.items.pop_back();
      out.next = out.items.back().id.uuid;
    } else if (!walk_.finished) {
      out.next = walk_.before;
    }
    return out;
  }

 private:
  bool full() const { return items_.size() >= wanted_; }

  void take(Db& db, const JobCandidate& job) {
    if (!matches(job, filter_)) return;
    if (auto view = find_named_view(db, job.id.uuid, store_.options())) items_.push_back(std::move(*view));
  }

  // The cost of the index is subtracted afterwards, so that each step makes progress.
  void look_at(Db& db, const JobCandidates& found) {
    for (const base::Uuid& id : found.ids) {
      if (full() || walk_.rows_left <= 0) return;
      auto s = db.prepare(
          "SELECT id, kind, status, model, created_at, run_at, error_code, parent_id, tenant FROM jobs WHERE "
          "id = ?1");
      if (s.bind(id).step()) take(db, candidate_at(s));
      walk_.before = id;
      --walk_.rows_left;
    }
    walk_.rows_left -= found.rows_read;
    walk_.finished = found.all && !full();
    if (!full()) walk_.before = found.down_to;
  }

  // Scans the rows in order of id, of all tenants and including children.
  void walk_on(Db& db) {
    auto s = db.prepare(
        "SELECT id, kind, status, model, created_at, run_at, error_code, parent_id, tenant FROM jobs WHERE "
        "id < ?1 AND id >= ?2 ORDER BY id DESC LIMIT ?3");
    const base::Uuid before = walk_.before;  // bound by reference
    const int rows_max = std::min(kRowsPerRead, walk_.rows_left);
    s.bind(before, walk_.from, rows_max);
    int rows = 0;
    while (!full() && s.step()) {
      ++rows;
      const JobCandidate job = candidate_at(s);
      walk_.before = job.id.uuid;
      take(db, job);
    }
    walk_.rows_left -= rows;
    walk_.finished = rows < rows_max && !full();
  }

  Store& store_;
  const JobFilter& filter_;
  JobWalk walk_;
  const std::size_t wanted_;
  bool begun_ = false;
  std::vector<schemas::JobView> items_;
};

}  // namespace

base::Result<JobPage> page_of_jobs(Store& store, const JobFilter& filter, int limit,
                                   std::optional<base::Uuid> before, int rows_max) {
  if (limit <= 0) return JobPage();
  const auto wanted = static_cast<std::size_t>(limit) + 1;  // one more, to see whether there is a next page
  PageSearch search(store, filter, start_walk(filter, before, rows_max), wanted);
  while (search.goes_on()) {
    auto status = store.readers().read([&](Db& db) { search.step(db); });
    if (!status) return status.error();
  }
  return search.page();
}

base::Result<JobPage> JobQueries::list(const std::string& tenant, const JobFilter& filter, int limit,
                                       std::optional<base::Uuid> before, int rows_max) {
  JobFilter own = filter;
  own.tenant = tenant;
  return page_of_jobs(store_, own, limit, before, rows_max);
}

}  // namespace millrace::storage
