#pragma once
#include <optional>
#include <vector>

#include "api/jobs/job_text.h"
#include "schemas/jobs/job.h"
#include "storage/jobs/kind_pauses.h"

namespace millrace::api {

// Which of some jobs cannot be begun as things stand, and why. That is looked up once, and only where a job
// is queued. Blocks then: pool.
class HeldJobs {
 public:
  explicit HeldJobs(storage::Store& store) : store_(store) {}
  // What cannot be read holds nothing: it is no part of the job.
  Held of(const schemas::JobView& job);

 private:
  bool is_paused(schemas::Kind kind);
  bool is_served(schemas::Kind kind);

  storage::Store& store_;
  std::optional<std::vector<storage::PausedKind>> paused_;
  std::optional<base::Result<std::vector<schemas::Kind>>> served_;
};

}  // namespace millrace::api
