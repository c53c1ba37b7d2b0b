#include "storage/admin_queries.h"
#include "storage/job_match.h"
#include "storage/job_views.h"
#include "storage/readers.h"

namespace millrace::storage {
namespace {

// Absent also when the id names another kind, or a child.
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
