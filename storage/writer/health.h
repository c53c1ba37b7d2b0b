#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "storage/sqlite/sync_failure.h"
#include "storage/store.h"
#include "storage/writer/fair_write_lock.h"

namespace millrace::storage {

// The current problems of the store. The monitor and the commit thread write it; submit (without a lock) and
// health checks read it. Thread-safe.
class HealthState {
 public:
  bool degraded() const { return degraded_.load(std::memory_order_relaxed); }
  bool failing() const { return failing_.load(std::memory_order_relaxed); }
  bool disk_low() const { return disk_low_.load(std::memory_order_relaxed); }

  void set_degraded(std::string detail);
  void clear_degraded();
  // A write failed because of the disk, of damaged files or of a foreign lock. `reason` is for the log and
  // names the file and what to do. Writes go on being tried; the next one that succeeds clears it.
  void set_failing(const std::string& reason);
  void clear_failing();
  void set_disk(bool low, std::string detail);
  Store::Health health() const;

 private:
  std::atomic<bool> degraded_{false}, failing_{false}, disk_low_{false};
  mutable std::mutex mutex_;
  std::string store_detail_, disk_detail_;
};

// Checks the free disk space every second, and how long the writer has waited for the write lock. After
// `stuck_after` it sets the store to degraded, naming the holder, and withdraws queued operations that are
// not urgent. The writer clears the state when it gets the lock. While the writer is idle, the monitor checks
// whether the lock can be acquired: if it is held at every check for `stuck_after`, and the write-ahead log
// was not written meanwhile, the lock counts as stuck, too. While writes fail, it has one tried at each
// check. Ends the process if another process has set the failure flag.
class StoreMonitor {
 public:
  struct Options {
    std::string folder;
    std::string log;  // SQLite's write-ahead log; only its modification time is read
    std::int64_t disk_free_min_bytes = 0;
    std::chrono::milliseconds stuck_after{2'000};
  };
  using Withdraw = std::function<void(const std::string& why)>;
  using TryWrite = std::function<void()>;  // submits a write that changes nothing; does not block

  StoreMonitor(Options options, FairWriteLock& write_lock, const FailureFlag& failure, HealthState& health,
               Withdraw withdraw, TryWrite try_write);

 private:
  void run(std::stop_token stop);
  void check_disk();
  void check_lock_wait();
  void check_lock_holder();
  void degraded(std::chrono::milliseconds held);

  Options options_;
  FairWriteLock& write_lock_;
  const FailureFlag& failure_;
  HealthState& health_;
  Withdraw withdraw_;
  TryWrite try_write_;
  // Used by the thread only: since this time the lock was held at every check and the log was not written.
  std::optional<std::chrono::steady_clock::time_point> held_since_;
  std::int64_t log_written_ns_ = 0;
  std::jthread thread_;
};

}  // namespace millrace::storage
