#pragma once
#include <array>
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
// Within the bounds that `created_after` and the beginning of an id set.
JobWalk start_walk(const JobFilter& filter, std::optional<base::Uuid> before, int rows_max);
// No higher than the id of a row of before that time may be; `ahead`: ids_ahead.
void begin_before(JobWalk& walk, base::WallTime created_before, std::chrono::milliseconds ahead);

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

// Which ids have a text in them; an empty one is in all. The text is borrowed.
class IdText {
 public:
  explicit IdText(std::string_view text);
  bool is_in(const schemas::JobId& id);

 private:
  bool may_be_in(const base::Uuid& id) const;
  const std::string_view text_;
  // An id with the text has one of them. Absent: not known.
  std::optional<std::array<unsigned char, 2>> bytes_;
  std::string room_;  // for an id's text, used again by the next
};

// A page of the jobs that match, step by step, until it is full, the walk has finished or has seen enough.
base::Result<JobPage> page_of_jobs(Store& store, const JobFilter& filter, int limit,
                                   std::optional<base::Uuid> before, int rows_max);

}  // namespace millrace::storage
