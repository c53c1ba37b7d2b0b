#pragma once
#include <optional>

#include "storage/job_candidates.h"

// Inside storage: jobs by tenant, kind and model, as jobs_listed keeps them.
namespace millrace::storage {

// The newest of the groups that the filter names, as many as one step may read. nullopt: there are more
// groups than one step looks at.
std::optional<JobCandidates> newest_of_groups(Db& db, const JobFilter& filter, const JobWalk& walk,
                                              std::size_t wanted);

}  // namespace millrace::storage
