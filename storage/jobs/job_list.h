#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/db/db.h"
#include "storage/jobs/job_queries.h"

// Inside storage: scans over jobs, newest first.
namespace millrace::storage {

// A page is searched in steps, each in its own read transaction. A filter that matches nothing in a million
// rows must not hold a snapshot for the whole search.
inline constexpr int kRowsPerRead = 10'000;

// Rows that one call examines for `text`, because each needs the job's name: some 50 ms.
inline constexpr int kNamedRowsMax = 2'000;

// The position of a scan over ids.
struct JobScan {
  base::Uuid before;      // only ids below this one
  base::Uuid from{};      // only ids not below this one
  int rows_left = 0;      // rows that may still be examined
  bool finished = false;  // the scan is complete
};
// Starts a scan, limited by `created_after` and by the beginning of an id, if the filter has them.
JobScan start_scan(const JobFilter& filter, std::optional<base::Uuid> before, int rows_max);
// Limits the scan to ids that a row created before that time can have; `skew` is id_clock_skew.
void limit_to_created_before(JobScan& scan, base::WallTime created_before, std::chrono::milliseconds skew);

// The columns of a row that a filter needs.
struct JobCandidate {
  schemas::JobId id;
  std::string tenant;
  bool is_child;
  schemas::JobStatus status;
  std::string model;
  base::WallTime created_at;
  bool waking;
  bool scheduled;
  std::string error;
  std::string metadata;
};
// Reads the columns id, kind, status, model, created_at, run_at, error_code, parent_id, tenant, metadata,
// schedule.
JobCandidate candidate_at(const Statement& row);
// Children match no filter.
bool matches(const JobCandidate& job, const JobFilter& filter);
bool has_kind(schemas::Kind kind, const JobFilter& filter);

// Tests whether ids contain a text; every id contains the empty text. The text must outlive this object.
class IdSubstring {
 public:
  explicit IdSubstring(std::string_view text);
  bool is_in(const schemas::JobId& id);

 private:
  bool may_be_in(const base::Uuid& id) const;
  const std::string_view text_;
  // Every id that contains the text contains one of these bytes. Absent: unknown.
  std::optional<std::array<unsigned char, 2>> bytes_;
  std::string id_text_;  // buffer for the text of an id, reused
};

// Searches one page of matching jobs, step by step, until the page is full, the scan is complete or
// `rows_max` rows were examined.
base::Result<JobPage> page_of_jobs(Store& store, const JobFilter& filter, int limit,
                                   std::optional<base::Uuid> before, int rows_max);

// Inside storage: finds jobs that a filter may accept with an index, so that a rare job among a million rows
// is found without examining the others.

struct JobCandidates {
  std::vector<base::Uuid>
      ids;             // newest first, within the scan; may include children and jobs of other tenants
  base::Uuid down_to;  // if not `all`: jobs below this id are still to be searched
  bool all = false;    // there are no more candidates
  int rows_read = 0;   // index entries read, in units of rows, where this cost counts
};

// nullopt: no index helps, or there are so many candidates that a scan over the rows finds some soon.
std::optional<JobCandidates> candidates(Db& db, const JobFilter& filter, const JobScan& scan,
                                        std::size_t items_max);

// Inside storage: jobs grouped by tenant, kind and model, in the index jobs_listed.

// The newest jobs of the groups that the filter selects, as many as one step may read. nullopt: there are
// more groups than one step examines.
std::optional<JobCandidates> newest_of_groups(Db& db, const JobFilter& filter, const JobScan& scan,
                                              std::size_t items_max);

}  // namespace millrace::storage
