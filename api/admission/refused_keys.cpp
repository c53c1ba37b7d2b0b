#include "api/admission/refused_keys.h"

namespace millrace::api {

void RefusedKeys::add(std::string_view key_id, std::string_view address) {
  const std::lock_guard lock(mutex_);
  std::pair<std::string, std::string> name(key_id, address);
  const bool is_new = !pairs_.contains(name);
  if (is_new && pairs_.size() >= kPairsMax) name = {};
  ++pairs_[std::move(name)].count;
}

// A pair without refusals in the last interval is forgotten.
std::vector<RefusedKeys::Count> RefusedKeys::take_due(base::BootTime now) {
  std::vector<Count> due;
  const std::lock_guard lock(mutex_);
  for (auto at = pairs_.begin(); at != pairs_.end();) {
    auto& [name, pair] = *at;
    if (now < pair.next_row_at) {
      ++at;
      continue;
    }
    if (pair.count == 0) {
      at = pairs_.erase(at);
      continue;
    }
    due.push_back({name.first, name.second, std::exchange(pair.count, 0)});
    pair.next_row_at = now + kEvery;
    ++at;
  }
  return due;
}

}  // namespace millrace::api
