#include "api/front/core.h"

#include <utility>

namespace millrace::front {

void Core::add(std::uint64_t id, std::shared_ptr<Connection> connection) {
  const std::lock_guard lock(mutex_);
  connections_.emplace(id, std::move(connection));
}

void Core::remove(std::uint64_t id) {
  std::shared_ptr<Connection> removed;  // may be the last owner: freed after the lock
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  removed = std::move(found->second);
  connections_.erase(found);
  if (connections_.empty()) empty_.notify_all();
}

std::shared_ptr<Connection> Core::find(std::uint64_t id) const {
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find(id);
  return found == connections_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<Connection>> Core::connections() const {
  std::vector<std::shared_ptr<Connection>> all;
  const std::lock_guard lock(mutex_);
  all.reserve(connections_.size());
  for (const auto& [id, connection] : connections_) all.push_back(connection);
  return all;
}

void Core::wait_empty(std::chrono::milliseconds deadline) {
  std::unique_lock lock(mutex_);
  empty_.wait_for(lock, deadline, [this] { return connections_.empty(); });
}

bool Core::request_begins(bool while_draining) {
  ++in_flight_;
  // Counted first: whoever set `refusing_` sees this request, or this request sees `refusing_`.
  if (!refusing_ || while_draining) return true;
  request_done();
  return false;
}

void Core::request_done() {
  if (--in_flight_ == 0) announce_change();
}

void Core::output_left() {
  if (--unsent_ == 0) announce_change();
}

void Core::announce_change() {
  if (!refusing_) return;  // nobody drains
  const std::lock_guard lock(quiet_mutex_);
  quiet_.notify_all();
}

std::size_t Core::wait_quiet(std::chrono::milliseconds deadline) {
  std::unique_lock lock(quiet_mutex_);
  quiet_.wait_for(lock, deadline, [this] { return in_flight_ == 0 && unsent_ == 0; });
  return in_flight_;
}

}  // namespace millrace::front
