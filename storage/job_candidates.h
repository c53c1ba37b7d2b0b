#pragma once
#include <optional>
#include <string>
#include <vector>

#include "storage/job_match.h"

// Inside storage: finds jobs that a filter may accept with an index, so that a rare job among a million rows
// is found without examining the others.
namespace millrace::storage {

struct JobCandidates {
  std::vector<base::Uuid>
      ids;             // newest first, within the scan; may include children and jobs of other tenants
  base::Uuid down_to;  // if not `all`: jobs below this id are still to be searched
  bool all = false;    // there are no more candidates
  int rows_read = 0;   // index entries read, in units of rows, where this cost counts
};

// nullopt: no index helps, or there are so many candidates that a scan over the rows finds some soon.
std::optional<JobCandidates> candidates(Db& db, const JobFilter& filter, const JobWalk& walk,
                                        std::size_t wanted);

}  // namespace millrace::storage
