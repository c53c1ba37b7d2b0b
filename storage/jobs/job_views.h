#pragma once
#include <optional>
#include <string>

#include "schemas/jobs/job.h"
#include "storage/jobs/job_queries.h"
#include "storage/jobs/job_rows.h"
#include "storage/sqlite/database.h"
#include "storage/store.h"

// Inside storage: a job as its owner sees it.
namespace millrace::storage {

// `options` say how long results are kept after the job's end.
std::optional<schemas::JobView> find_view(Db& db, const base::Uuid& id, const Store::Options& options);
// The job's name (schemas::job_name), from its spec: some 10 µs.
std::string find_name(Db& db, const schemas::JobId& job);
// The view with the job's name; for reads that show jobs.
std::optional<schemas::JobView> find_named_view(Db& db, const base::Uuid& id, const Store::Options& options);

// Inside storage: a root job with everything that its owner may see.
JobRecord record_of(Db& db, const Store::Options& options, const JobRow& row);

}  // namespace millrace::storage
