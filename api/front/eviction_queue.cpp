#include "api/front/eviction_queue.h"

namespace millrace::front {

void EvictionQueue::add(std::uint64_t id, const std::string& address) {
  const std::lock_guard lock(mutex_);
  addresses_.emplace_hint(addresses_.end(), id, address);
  if (!address.empty()) by_address_[address].insert(id);
}

void EvictionQueue::remove(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto found = addresses_.find(id);
  if (found == addresses_.end()) return;
  const auto same_address = by_address_.find(found->second);
  if (same_address != by_address_.end()) {
    same_address->second.erase(id);
    if (same_address->second.empty()) by_address_.erase(same_address);
  }
  addresses_.erase(found);
}

std::vector<std::uint64_t> EvictionQueue::candidates(std::uint64_t new_connection, std::size_t count) const {
  std::vector<std::uint64_t> out;
  const std::lock_guard lock(mutex_);
  const auto take = [&](std::uint64_t id) {
    if (id != new_connection) out.push_back(id);
    return out.size() < count;
  };
  const auto known = addresses_.find(new_connection);
  const auto same_address = known == addresses_.end() ? by_address_.end() : by_address_.find(known->second);
  if (same_address != by_address_.end() && same_address->second.size() > share_) {
    for (const std::uint64_t id : same_address->second) {
      if (!take(id)) break;
    }
    return out;
  }
  for (const auto& [id, address] : addresses_) {
    if (!take(id)) break;
  }
  return out;
}

}  // namespace millrace::front
