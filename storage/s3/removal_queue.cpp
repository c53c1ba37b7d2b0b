#include "storage/s3/removal_queue.h"

#include "platform/base/log.h"

namespace millrace::s3 {
namespace {

constexpr std::chrono::seconds kFinishWithin{2};

}  // namespace

RemovalQueue::RemovalQueue(Client& client) : client_(client) {
  for (auto& thread : threads_) thread = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

RemovalQueue::~RemovalQueue() {
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kFinishWithin, [this] { return keys_.empty(); });
  }
  client_.stop();
  for (auto& thread : threads_) thread.request_stop();
}

void RemovalQueue::add(const std::string& key) {
  const std::lock_guard lock(mutex_);
  if (keys_.size() >= kWaitingMax || !keys_.insert(key).second) return;
  waiting_.push_back(key);
  changed_.notify_all();
}

bool RemovalQueue::contains(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  return keys_.contains(key);
}

void RemovalQueue::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return !waiting_.empty(); }) && !stop.stop_requested()) {
    const std::string key = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    if (auto removed = client_.remove(key); !removed)
      base::log_warn("s3_object_not_removed", {{"key", key}, {"error", removed.error().message}});
    lock.lock();
    keys_.erase(key);
    changed_.notify_all();
  }
}

}  // namespace millrace::s3
