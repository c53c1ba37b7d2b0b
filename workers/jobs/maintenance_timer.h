#pragma once
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "jobs/maintenance.h"
#include "platform/base/clock.h"
#include "platform/base/fd.h"
#include "platform/base/pool.h"
#include "platform/net/loop.h"
#include "storage/writer/lock_file.h"
#include "workers/jobs/worker_lock.h"
#include "workers/loop_link.h"

namespace millrace::workers {

// Which process of a data directory does upkeep: whoever holds DATA/locks/upkeep.lock. One that is stopped
// (SIGSTOP, a frozen container) holds it and does nothing; so each also notes in that file when its next
// round begins, and for one that is `patience` late another process stands in until somebody else renews the
// note. One that is merely slow is stood in for as well. Two at a time do no harm: each statement of upkeep
// repeats its condition (docs/design/delivery.md §6). One thread at a time; blocks for a write of
// a few bytes.
class MaintenanceLeader {
 public:
  MaintenanceLeader() = default;
  // Makes the file.
  static base::Result<MaintenanceLeader> open(const std::string& path,
                                              std::chrono::milliseconds standby_after);

  // Whether the round that is due is ours to do.
  bool is_ours(base::BootTime now);
  // After a round of ours.
  void note_next(base::BootTime next);
  void give_up();

 private:
  MaintenanceLeader(storage::LockFile lock, base::Fd file, std::chrono::milliseconds standby_after);
  std::optional<base::BootTime> noted() const;
  bool stand_in(base::BootTime now);

  storage::LockFile lock_;
  base::Fd file_;  // the lock's, once more: a LockFile lends its descriptor to nobody
  std::chrono::milliseconds standby_after_{};
  bool holds_ = false;
  std::optional<base::BootTime> stood_in_;  // our note, while we stand in for who holds the lock
};

// Runs jobs::Upkeep in the one process of a data directory whose turn it is (maintenance_timer.h), and
// releases the leases of workers that died on this host, whose lock files tell. Any process with an open
// store may have one; the others only look now and then whether it is theirs.
class MaintenanceTimer {
 public:
  struct Options {
    std::string data_dir;
    std::chrono::milliseconds standby{500};  // between two looks whether it is our turn
    std::chrono::milliseconds standby_after{
        10'000};                               // with a round that is late before another process stands in
    std::chrono::milliseconds nudge_wait{50};  // after a nudge, so that a burst costs one round
  };

  // `upkeep`, `store` and `pool` must outlive it. The loop stays the caller's.
  MaintenanceTimer(net::Loop& loop, base::Pool& pool, storage::Store& store, jobs::Maintenance& maintenance,
                   Options options);
  ~MaintenanceTimer();

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
