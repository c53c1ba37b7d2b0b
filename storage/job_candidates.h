#pragma once
#include <optional>
#include <string>
#include <vector>

#include "storage/job_match.h"

// Inside storage: jobs that a filter may pass, told apart by an index, so that a rare one in a million rows
// is found without looking at the others.
namespace millrace::storage {

struct JobCandidates {
  std::vector<base::Uuid>
      ids;             // newest first, within the walk; children and other tenants' may be among them
  base::Uuid down_to;  // not all: those below it are still to be looked for
  bool all = false;    // there are no more
  int rows_read = 0;   // of the index, where that is work to be counted
};

// nullopt: no index tells them apart, or they are so many that a walk over the rows meets some soon.
std::optional<JobCandidates> candidates(Db& db, const JobFilter& filter, const JobWalk& walk,
                                        std::size_t wanted);

}  // namespace millrace::storage
