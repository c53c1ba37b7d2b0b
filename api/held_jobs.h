#pragma once
#include <optional>
#include <vector>

#include "schemas/job.h"
#include "storage/kind_pauses.h"

namespace millrace::api {

// Which of some jobs wait because their kind is paused. The pauses are looked up once, and only where a job
// is queued. Blocks then: pool.
class HeldJobs {
 public:
  explicit HeldJobs(storage::Store& store) : store_(store) {}
  // A pause that cannot be read holds nothing: it is no part of the job.
  bool has(const schemas::JobView& job);

 private:
  storage::Store& store_;
  std::optional<std::vector<storage::PausedKind>> paused_;
};

}  // namespace millrace::api
