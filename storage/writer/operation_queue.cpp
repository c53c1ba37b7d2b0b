#include "storage/writer/operation_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace millrace::storage {
namespace {

// Moves operations that fit from the front of `from`. False: the rest is left for the next group.
bool take_from(std::deque<QueuedOperation>& from, std::vector<QueuedOperation>& group,
               OperationQueue::Bounds& capacity) {
  while (!from.empty()) {
    const bool fits = capacity.operations > 0 && from.front().payload_bytes <= capacity.payload_bytes;
    if (!fits && !group.empty()) return false;
    capacity.operations -= capacity.operations > 0 ? 1 : 0;
    capacity.payload_bytes -= std::min(capacity.payload_bytes, from.front().payload_bytes);
    group.push_back(std::move(from.front()));
    from.pop_front();
  }
  return true;
}

void move_to(std::deque<QueuedOperation>& from, std::vector<QueuedOperation>& to) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
  from.clear();
}

}  // namespace

OperationQueue::Push OperationQueue::push(QueuedOperation& operation) {
  const bool urgent = operation.priority != Writer::Priority::kNormal;
  std::lock_guard lock(mutex_);
  if (closed_) return Push::kClosed;
  if (unfinished_ >= max_ + (urgent ? max_ / 8 : 0)) return Push::kFull;
  (urgent ? urgent_ : normal_).push_back(std::move(operation));
  ++unfinished_;
  if (std::exchange(waiting_, false)) ready_.notify_one();
  return Push::kQueued;
}

bool OperationQueue::wait() {
  std::unique_lock lock(mutex_);
  while (empty() && !closed_) {
    waiting_ = true;
    ready_.wait(lock);
  }
  waiting_ = false;
  return !empty();
}

std::size_t OperationQueue::take(std::vector<QueuedOperation>& group, Bounds& capacity) {
  const std::size_t before = group.size();
  std::lock_guard lock(mutex_);
  if (take_from(urgent_, group, capacity)) take_from(normal_, group, capacity);
  return group.size() - before;
}

std::vector<QueuedOperation> OperationQueue::withdraw_not_urgent() {
  std::vector<QueuedOperation> withdrawn;
  std::lock_guard lock(mutex_);
  const auto first_interactive = std::stable_partition(
      urgent_.begin(), urgent_.end(),
      [](const QueuedOperation& each) { return each.priority == Writer::Priority::kUrgent; });
  std::move(first_interactive, urgent_.end(), std::back_inserter(withdrawn));
  urgent_.erase(first_interactive, urgent_.end());
  move_to(normal_, withdrawn);
  return withdrawn;
}

std::vector<QueuedOperation> OperationQueue::withdraw_all() {
  std::vector<QueuedOperation> withdrawn;
  std::lock_guard lock(mutex_);
  move_to(urgent_, withdrawn);
  move_to(normal_, withdrawn);
  return withdrawn;
}

void OperationQueue::finished(std::size_t count) {
  std::lock_guard lock(mutex_);
  unfinished_ -= count;
}

void OperationQueue::close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  ready_.notify_all();
}

std::size_t OperationQueue::depth() const {
  std::lock_guard lock(mutex_);
  return urgent_.size() + normal_.size();
}

}  // namespace millrace::storage
