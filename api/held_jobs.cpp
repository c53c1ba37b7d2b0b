#include "api/held_jobs.h"

#include <algorithm>

namespace millrace::api {

bool HeldJobs::has(const schemas::JobView& job) {
  if (job.status != schemas::JobStatus::kQueued) return false;
  if (!paused_) {
    auto listed = storage::KindPauses(store_).list();
    paused_ = listed ? *std::move(listed) : std::vector<storage::PausedKind>();
  }
  return std::ranges::find(*paused_, job.id.kind, &storage::PausedKind::kind) != paused_->end();
}

}  // namespace millrace::api
