#include "jobs/waiters.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "storage/jobs/job_queries.h"

namespace millrace::jobs {
namespace {

constexpr std::size_t kJobsPerQuery = 256;

}  // namespace

Waiters::Subscription::~Subscription() {
  if (waiters_) waiters_->forget(job_, id_);
}

Waiters::Subscription::Subscription(Subscription&& other) noexcept
    : waiters_(std::exchange(other.waiters_, nullptr)), job_(other.job_), id_(other.id_) {}

Waiters::Subscription& Waiters::Subscription::operator=(Subscription&& other) noexcept {
  std::swap(waiters_, other.waiters_);
  std::swap(job_, other.job_);
  std::swap(id_, other.id_);
  return *this;
}

Waiters::Subscription Waiters::watch(const schemas::JobId& job, std::int64_t seen_version, Wake wake) {
  Subscription subscription;
  const std::lock_guard lock(mutex_);
  subscription.waiters_ = this;
  subscription.job_ = job;
  subscription.id_ = next_id_++;
  watches_[job].emplace(subscription.id_, Watch{seen_version, std::make_shared<const Wake>(std::move(wake))});
  ++count_;
  return subscription;
}

void Waiters::on_change(const schemas::JobId& job, std::int64_t version, schemas::JobStatus status) {
  if (count_.load(std::memory_order_acquire) == 0) return;
  std::vector<std::shared_ptr<const Wake>> woken;
  {
    const std::lock_guard lock(mutex_);
    const auto found = watches_.find(job);
    if (found == watches_.end()) return;
    for (auto& [id, watch] : found->second) {
      if (version <= watch.seen) continue;
      watch.seen = version;
      woken.push_back(watch.wake);
    }
  }
  for (const auto& wake : woken) (*wake)(version, status);
}

std::vector<schemas::JobId> Waiters::watched() const {
  std::vector<schemas::JobId> jobs;
  const std::lock_guard lock(mutex_);
  jobs.reserve(watches_.size());
  for (const auto& [job, watches] : watches_) jobs.push_back(job);
  return jobs;
}

void Waiters::poll() {
  const std::vector<schemas::JobId> jobs = watched();
  storage::JobQueries queries(store_);
  for (std::size_t from = 0; from < jobs.size(); from += kJobsPerQuery) {
    const std::size_t to = std::min(jobs.size(), from + kJobsPerQuery);
    const auto changes = queries.versions(
        {jobs.begin() + static_cast<std::ptrdiff_t>(from), jobs.begin() + static_cast<std::ptrdiff_t>(to)});
    if (!changes) return;  // the next query runs in a second
    for (const schemas::JobChange& change : *changes) on_change(change.job, change.version, change.status);
  }
}

std::size_t Waiters::count() const { return count_.load(std::memory_order_acquire); }

void Waiters::forget(const schemas::JobId& job, std::uint64_t id) {
  std::shared_ptr<const Wake> dropped;  // destroyed outside the lock: it may own a subscription
  const std::lock_guard lock(mutex_);
  const auto found = watches_.find(job);
  if (found == watches_.end()) return;
  const auto watch = found->second.find(id);
  if (watch == found->second.end()) return;
  dropped = std::move(watch->second.wake);
  found->second.erase(watch);
  if (found->second.empty()) watches_.erase(found);
  --count_;
}

}  // namespace millrace::jobs
