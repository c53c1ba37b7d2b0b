#pragma once
#include <optional>

#include "schemas/job.h"
#include "storage/sqlite.h"
#include "storage/store.h"

// Inside storage: a job as its owner sees it.
namespace millrace::storage {

// `options` say how long results are kept after the job's end.
std::optional<schemas::JobView> find_view(Db& db, const base::Uuid& id, const Store::Options& options);
// The same with the job's name. For kinds that have names this reads the spec, some 10 µs; for reads that
// show jobs.
std::optional<schemas::JobView> find_named_view(Db& db, const base::Uuid& id, const Store::Options& options);

}  // namespace millrace::storage
