#include "platform/net/http/plain_pool.h"

#include <algorithm>
#include <utility>

namespace millrace::net {
namespace {

bool is_aged(const PlainConnection& connection) {
  return connection.idle_since + PlainPool::kKeptFor < std::chrono::steady_clock::now();
}

}  // namespace

std::shared_ptr<PlainConnection> PlainPool::take(std::string_view origin) {
  const auto found = kept_.find(origin);
  while (found != kept_.end() && !found->second.empty()) {
    auto connection = std::move(found->second.back());
    found->second.pop_back();
    --count_;
    if (!is_aged(*connection) && connection->is_quiet()) return connection;
    connection->close();
  }
  return nullptr;
}

void PlainPool::keep(std::shared_ptr<PlainConnection> connection) {
  connection->set_receiver(nullptr);
  connection->idle_since = std::chrono::steady_clock::now();
  if (count_ >= kKeptMax || kept_.size() >= kKeptMax) drop_aged();
  if (count_ >= kKeptMax) return connection->close();
  if (!connection->on_idle_end) {
    connection->on_idle_end = [this](PlainConnection& ended) { drop(ended); };
  }
  ++count_;
  kept_[connection->origin].push_back(std::move(connection));
}

void PlainPool::drop(PlainConnection& connection) {
  const auto found = kept_.find(connection.origin);
  if (found == kept_.end()) return;
  count_ -= std::erase_if(found->second, [&](const auto& each) { return each.get() == &connection; });
}

void PlainPool::drop_aged() {
  for (auto& [origin, kept] : kept_) {
    count_ -= std::erase_if(kept, [](const auto& each) {
      if (!is_aged(*each)) return false;
      each->close();
      return true;
    });
  }
  std::erase_if(kept_, [](const auto& entry) { return entry.second.empty(); });
}

void PlainPool::close() {
  for (auto& [origin, kept] : kept_) {
    for (const auto& each : kept) each->close();
  }
  kept_.clear();
  count_ = 0;
}

}  // namespace millrace::net
