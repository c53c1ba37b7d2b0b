#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ai/engines/pool/engine_call.h"

namespace millrace::engines {

// The calls that wait for a child, by owner. Owners take turns: the next call is of the owner with the fewest
// running calls, and among those of the owner whose turn is longest ago: a call of it began or ended, or its
// first call came. Not thread-safe.
class CallQueue {
 public:
  using Call = std::shared_ptr<EngineCall>;

  explicit CallQueue(std::size_t calls_max) : calls_max_(calls_max) {}

  // False: the queue is full for this owner. An owner may have as many calls as places are free, so one owner
  // alone fills half of the queue. The first call of an owner is always queued.
  bool add(Call call);
  // The owner of the next call; null: no call waits.
  const std::string* next_owner() const;
  // Removes the next call and counts it as running. REQUIRES: a call waits.
  Call begin_next();
  // The call that has begun is over.
  void end(const EngineCall& call);
  // Returns and removes cancelled calls.
  std::vector<Call> take_cancelled();
  void cancel_all() const;
  std::size_t size() const { return size_; }

 private:
  struct Owner {
    std::deque<Call> waiting;
    std::size_t running = 0;
    std::uint64_t last_turn = 0;
  };
  using Owners = std::map<std::string, Owner, std::less<>>;

  Owners::const_iterator next() const;
  void forget_if_unused(Owners::iterator owner);

  const std::size_t calls_max_;
  Owners owners_;  // those with waiting or running calls
  std::size_t size_ = 0;
  std::uint64_t turns_ = 0;
};

}  // namespace millrace::engines
