#pragma once
#include <optional>

#include "storage/job_candidates.h"

// Inside storage: jobs grouped by tenant, kind and model, in the index jobs_listed.
namespace millrace::storage {

// The newest jobs of the groups that the filter selects, as many as one step may read. nullopt: there are
// more groups than one step examines.
std::optional<JobCandidates> newest_of_groups(Db& db, const JobFilter& filter, const JobWalk& walk,
                                              std::size_t wanted);

}  // namespace millrace::storage
