#pragma once
#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "jobs/upkeep.h"
#include "platform/base/pool.h"
#include "platform/net/loop.h"
#include "workers/loop_link.h"
#include "workers/worker_lock.h"

namespace millrace::workers {

// Runs jobs::Upkeep in the one process of a data directory whose turn it is (upkeep_turn.h), and releases the
// leases of workers that died on this host, whose lock files tell. Any process with an open store may have
// one; the others only look now and then whether it is theirs.
class UpkeepTimer {
 public:
  struct Options {
    std::string data_dir;
    std::chrono::milliseconds standby{500};      // between two looks whether it is our turn
    std::chrono::milliseconds patience{10'000};  // with a round that is late before another process stands in
    std::chrono::milliseconds nudge_wait{50};    // after a nudge, so that a burst costs one round
  };

  // `upkeep`, `store` and `pool` must outlive it. The loop stays the caller's.
  UpkeepTimer(net::Loop& loop, base::Pool& pool, storage::Store& store, jobs::Upkeep& upkeep,
              Options options);
  ~UpkeepTimer();

  base::Status start();
  // Waits for the round under way (at most `deadline`) and gives up the lock; a round that lasts longer keeps
  // it to its end. Idempotent. Not on the loop.
  void stop(std::chrono::milliseconds deadline);
  // Relay::Nudge: any thread, never blocks; costs nothing unless the next round is far away.
  void nudge(bool delayed);

 private:
  struct Turn;
  LoopLink link_;
  std::shared_ptr<Turn> turn_;
};

}  // namespace millrace::workers
