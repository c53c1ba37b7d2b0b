#include "api/admission/live_calls.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "api/call.h"

namespace millrace::api {

base::Status LiveCalls::refresh() {
  const std::lock_guard lock(refresh_mutex_);
  const auto reduced = auth_.refresh();
  if (!reduced) return reduced.error();
  if (!reduced->empty()) end(*reduced);
  return {};
}

bool LiveCalls::add(Call& call, std::uint64_t generation) {
  const std::lock_guard lock(mutex_);
  if (generation != generation_) return false;
  call.links = {.list = this, .next = first_, .previous = nullptr};
  if (first_ != nullptr) first_->links.previous = &call;
  first_ = &call;
  return true;
}

void LiveCalls::remove(Call& call) {
  const std::lock_guard lock(mutex_);
  const Links links = std::exchange(call.links, {});
  if (links.list == nullptr) return;
  (links.previous == nullptr ? first_ : links.previous->links.next) = links.next;
  if (links.next != nullptr) links.next->links.previous = links.previous;
}

// A call that is being destroyed waits in `remove` and is skipped.
void LiveCalls::end(const std::vector<std::string>& key_ids) {
  std::vector<std::shared_ptr<Call>> ended;
  {
    const std::lock_guard lock(mutex_);
    ++generation_;
    for (Call* call = first_; call != nullptr; call = call->links.next) {
      if (std::ranges::find(key_ids, call->principal->key_id) == key_ids.end()) continue;
      if (auto held = call->weak_from_this().lock()) ended.push_back(std::move(held));
    }
  }
  for (const auto& call : ended) call->revoke();
}

}  // namespace millrace::api
