#include "jobs/feed.h"

#include <algorithm>
#include <utility>

namespace millrace::jobs {
namespace {

constexpr std::size_t kReceivedMax =
    8'192;  // jobs whose last version is kept; a repeated hint arrives within seconds

}  // namespace

std::vector<schemas::JobChange> Feed::Follower::take() {
  const std::lock_guard lock(mutex_);
  at_.clear();
  return std::exchange(waiting_, {});
}

void Feed::Follower::on_change(const schemas::JobChange& change) {
  const std::lock_guard lock(mutex_);
  if (dropped_) return;
  if (const auto known = at_.find(change.job); known != at_.end()) {
    waiting_[known->second] = change;
    return;
  }
  if (waiting_.size() == kBehindMax) {
    dropped_.store(true, std::memory_order_release);
    at_.clear();
    waiting_ = {};
    return;
  }
  at_.emplace(change.job, waiting_.size());
  waiting_.push_back(change);
}

Feed::FollowerPtr Feed::follow() {
  const std::lock_guard lock(mutex_);
  std::erase_if(followers_, [](const auto& one) { return one.expired(); });
  if (followers_.size() >= kFollowersMax) return nullptr;
  auto follower = std::make_shared<Follower>();
  followers_.push_back(follower);
  count_.store(followers_.size(), std::memory_order_relaxed);
  return follower;
}

void Feed::on_change(const schemas::JobChange& change) {
  if (followers() == 0) return;
  const std::lock_guard lock(mutex_);
  std::erase_if(followers_, [](const auto& one) { return one.expired(); });
  count_.store(followers_.size(), std::memory_order_relaxed);
  if (followers_.empty()) {
    versions_.clear();
    received_order_.clear();
    return;
  }
  if (!is_new(change)) return;
  for (const auto& one : followers_) {
    if (const FollowerPtr follower = one.lock()) follower->on_change(change);
  }
}

bool Feed::is_new(const schemas::JobChange& change) {
  const auto [known, first] = versions_.try_emplace(change.job, change.version);
  if (!first) return std::exchange(known->second, std::max(known->second, change.version)) < change.version;
  received_order_.push_back(change.job);
  if (received_order_.size() > kReceivedMax) {
    versions_.erase(received_order_.front());
    received_order_.pop_front();
  }
  return true;
}

}  // namespace millrace::jobs
