#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "api/context.h"
#include "api/jobs/job_text.h"
#include "api/routing/route.h"
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

// Runs `then` at once, or, with `Prefer: wait=SECONDS`, on the pool when the job has ended or the time is up
// (at most Options::prefer_wait_max). Sends the error itself if the job cannot be read. Blocks on the store.
void wait_as_preferred(Context& context, const CallPtr& call, const schemas::JobId& id,
                       std::function<void()> then);

}  // namespace millrace::api
