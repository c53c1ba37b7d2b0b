#pragma once
#include <atomic>
#include <chrono>
#include <functional>
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
#include "workers/weak_loop.h"

namespace millrace::workers {

// Elects the process of a data directory that does maintenance: the holder of DATA/locks/upkeep.lock. A
// stopped holder (SIGSTOP, a frozen container) keeps the lock and does nothing. Therefore each leader also
// writes into that file when its next round begins. If a round is `standby_after` late, a standby takes over
// until another process writes a newer time. A merely slow leader is replaced too. Two leaders at a time do
// no harm, because each maintenance statement repeats its condition (docs/design/delivery.md §6). One thread
// at a time; blocks for a write of a few bytes.
class MaintenanceLeader {
 public:
  MaintenanceLeader() = default;
  // Creates the file.
  static base::Result<MaintenanceLeader> open(const std::string& path,
                                              std::chrono::milliseconds standby_after);

  // True: this process does the round that is due.
  bool is_leader(base::BootTime now);
  // Called after each round of this process; writes the time of the next one.
  void record_next_round(base::BootTime next);
  void give_up();

 private:
  MaintenanceLeader(storage::LockFile lock, base::Fd file, std::chrono::milliseconds standby_after);
  std::optional<base::BootTime> recorded_next_round() const;
  bool take_over(base::BootTime now);

  storage::LockFile lock_;
  base::Fd file_;  // a second descriptor of the lock file, because LockFile does not expose its own
  std::chrono::milliseconds standby_after_{};
  bool holds_ = false;
  std::optional<base::BootTime> took_over_at_;  // the time that we wrote, while we replace a stalled leader
};

// Runs jobs::Maintenance in the process that MaintenanceLeader elects, if its host maintains the store. Also
// releases the leases of workers that died on this host, found by their lock files, on any host. Any process
// with an open store may have one; the standbys only check periodically whether they have become the leader.
class MaintenanceTimer {
 public:
  struct Options {
    std::string data_dir;
    std::string boot_id;                              // of this host's kernel (base::Clock)
    std::chrono::milliseconds standby{500};           // a standby's interval between two leadership checks
    std::chrono::milliseconds standby_after{10'000};  // how late a round may be before a standby takes over
    std::chrono::milliseconds nudge_wait{50};         // delay after a nudge: a burst costs only one round
    // Whether this host does the maintenance of a store that several hosts share. Empty: the store has one.
    std::function<bool()> host_maintains{};
  };

  // `maintenance`, `store` and `pool` must outlive it. The caller owns the loop.
  MaintenanceTimer(net::Loop& loop, base::Pool& pool, storage::Store& store, jobs::Maintenance& maintenance,
                   Options options);
  ~MaintenanceTimer();

  base::Status start();
  // Waits up to `deadline` for the current round and releases the lock. A longer round keeps the lock until
  // it ends. Idempotent. Not on the loop.
  void stop(std::chrono::milliseconds deadline);
  // The OutboxPublisher::Nudge of this process. Any thread; never blocks. Does nothing if the next round is
  // near.
  void request_round(bool delayed);

 private:
  struct State;
  WeakLoop weak_loop_;
  std::shared_ptr<State> state_;
};

}  // namespace millrace::workers
