#include "api/held_jobs.h"

#include <algorithm>

#include "storage/served_kinds.h"

namespace millrace::api {

Held HeldJobs::of(const schemas::JobView& job) {
  if (job.status != schemas::JobStatus::kQueued) return Held::kNot;
  if (is_paused(job.id.kind)) return Held::kPaused;
  return is_served(job.id.kind) ? Held::kNot : Held::kUnserved;
}

bool HeldJobs::is_paused(schemas::Kind kind) {
  if (!paused_) {
    auto listed = storage::KindPauses(store_).list();
    paused_ = listed ? *std::move(listed) : std::vector<storage::PausedKind>();
  }
  return std::ranges::find(*paused_, kind, &storage::PausedKind::kind) != paused_->end();
}

bool HeldJobs::is_served(schemas::Kind kind) {
  if (!served_) served_ = storage::served_kinds(store_);
  const base::Result<std::vector<schemas::Kind>>& kinds = *served_;
  return !kinds || std::ranges::find(*kinds, kind) != kinds->end();
}

}  // namespace millrace::api
