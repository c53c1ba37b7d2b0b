#pragma once
#include "storage/job_queries.h"
#include "storage/job_rows.h"
#include "storage/sqlite.h"
#include "storage/store.h"

namespace millrace::storage {

// Inside storage: a root job with everything that its owner may see.
JobRecord record_of(Db& db, const Store::Options& options, const JobRow& row);

}  // namespace millrace::storage
