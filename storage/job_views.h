#pragma once
#include <chrono>
#include <optional>

#include "schemas/job.h"
#include "storage/sqlite.h"

// Inside storage: a job as its owner sees it.
namespace millrace::storage {

// `result_age`: how long results are kept after the end.
std::optional<schemas::JobView> find_view(Db& db, const base::Uuid& id, std::chrono::milliseconds result_age);

}  // namespace millrace::storage
