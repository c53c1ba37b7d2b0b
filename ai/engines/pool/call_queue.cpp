#include "ai/engines/pool/call_queue.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace millrace::engines {

bool CallQueue::add(Call call) {
  const std::size_t free = calls_max_ - size_;
  const auto known = owners_.find(call->owner());
  const std::size_t waiting = known == owners_.end() ? 0 : known->second.waiting.size();
  if (waiting > 0 && waiting >= free) return false;
  // A new owner waits behind those that wait already.
  Owner& owner = known == owners_.end() ? owners_[call->owner()] : known->second;
  if (known == owners_.end()) owner.last_turn = ++turns_;
  owner.waiting.push_back(std::move(call));
  ++size_;
  return true;
}

CallQueue::Owners::const_iterator CallQueue::next() const {
  auto best = owners_.end();
  const auto rank = [](const Owner& owner) { return std::tie(owner.running, owner.last_turn); };
  for (auto each = owners_.begin(); each != owners_.end(); ++each) {
    if (each->second.waiting.empty()) continue;
    if (best == owners_.end() || rank(each->second) < rank(best->second)) best = each;
  }
  return best;
}

const std::string* CallQueue::next_owner() const {
  const auto owner = next();
  return owner == owners_.end() ? nullptr : &owner->first;
}

CallQueue::Call CallQueue::begin_next() {
  Owner& owner = owners_.at(next()->first);
  Call call = std::move(owner.waiting.front());
  owner.waiting.pop_front();
  ++owner.running;
  owner.last_turn = ++turns_;
  --size_;
  return call;
}

void CallQueue::end(const EngineCall& call) {
  const auto owner = owners_.find(call.owner());
  --owner->second.running;
  owner->second.last_turn = ++turns_;
  forget_if_unused(owner);
}

void CallQueue::forget_if_unused(Owners::iterator owner) {
  if (owner->second.waiting.empty() && owner->second.running == 0) owners_.erase(owner);
}

std::vector<CallQueue::Call> CallQueue::take_cancelled() {
  std::vector<Call> taken;
  for (auto owner = owners_.begin(); owner != owners_.end();) {
    const auto current = owner++;
    std::erase_if(current->second.waiting, [&taken](const Call& call) {
      const bool gone = call->is_cancelled();
      if (gone) taken.push_back(call);
      return gone;
    });
    forget_if_unused(current);
  }
  size_ -= taken.size();
  return taken;
}

void CallQueue::cancel_all() const {
  for (const auto& [name, owner] : owners_) {
    for (const Call& call : owner.waiting) call->cancel();
  }
}

}  // namespace millrace::engines
