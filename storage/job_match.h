#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "storage/job_queries.h"
#include "storage/sqlite.h"

// Inside storage: walks over jobs, newest first.
namespace millrace::storage {

// A page is looked for in steps, each a read transaction of its own: a filter that matches nothing in a
// million rows must hold no snapshot while it looks.
inline constexpr int kRowsPerRead = 10'000;

// Where a walk over ids is.
struct JobWalk {
  base::Uuid before;      // ids below it
  base::Uuid from{};      // not below this one
  int rows_left = 0;      // that may still be looked at
  bool finished = false;  // there are no more
};
// Within the bounds that the filter's times and the beginning of an id set.
JobWalk start_walk(const JobFilter& filter, std::optional<base::Uuid> before, int rows_max);

// What a filter asks of a row.
struct JobCandidate {
  schemas::JobId id;
  std::string tenant;
  bool is_child;
  schemas::JobStatus status;
  std::string model;
  base::WallTime created_at;
  bool waking;
  std::string error;
};
// Of a row: id, kind, status, model, created_at, run_at, error_code, parent_id, tenant.
JobCandidate candidate_at(const Statement& row);
// Children match no filter.
bool matches(const JobCandidate& job, const JobFilter& filter);
bool has_kind(schemas::Kind kind, const JobFilter& filter);
// `room`: for the id's text, used again by the next.
bool has_text(const schemas::JobId& id, std::string_view text, std::string& room);

// A page of the jobs that match, step by step, until it is full, the walk has finished or has seen enough.
base::Result<JobPage> page_of_jobs(Store& store, const JobFilter& filter, int limit,
                                   std::optional<base::Uuid> before, int rows_max);

}  // namespace millrace::storage
