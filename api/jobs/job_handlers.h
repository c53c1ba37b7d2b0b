#pragma once
#include <optional>
#include <vector>

#include "api/jobs/job_text.h"
#include "schemas/jobs/job.h"
#include "storage/jobs/kind_pauses.h"

namespace millrace::api {

// Finds out which jobs cannot start now, and why. The store is read once, and only if a job is queued. Then
// it blocks; runs on the pool.
class BlockedJobs {
 public:
  explicit BlockedJobs(storage::Store& store) : store_(store) {}
  // If the store cannot be read, the result is kNot: the state is not part of the job.
  BlockReason of(const schemas::JobView& job);

 private:
  bool is_paused(schemas::Kind kind);
  bool is_served(schemas::Kind kind);

  storage::Store& store_;
  std::optional<std::vector<storage::PausedKind>> paused_;
  std::optional<base::Result<std::vector<schemas::Kind>>> served_;
};

}  // namespace millrace::api
