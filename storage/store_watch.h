#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "storage/failure_flag.h"
#include "storage/health_board.h"
#include "storage/turnstile.h"

namespace millrace::storage {

// Checks the free disk space every second, and how long the writer has waited for the write lock. After
// `stuck_after` it sets the store to degraded, naming the holder, and withdraws queued operations that are
// not urgent. The writer clears the state when it gets the lock. While the writer is idle, the monitor checks
// whether the lock can be acquired: if it is held at every check for `stuck_after`, and the write-ahead log
// was not written meanwhile, the lock counts as stuck, too. Ends the process if another process has set the
// failure flag.
class StoreWatch {
 public:
  struct Options {
    std::string folder;
    std::string log;  // SQLite's write-ahead log; only its modification time is read
    std::int64_t disk_free_min_bytes = 0;
    std::chrono::milliseconds stuck_after{2'000};
  };
  using Withdraw = std::function<void(const std::string& why)>;

  StoreWatch(Options options, Turnstile& turnstile, const FailureFlag& failure, HealthBoard& health,
             Withdraw withdraw);

 private:
  void run(std::stop_token stop);
  void look_at_disk();
  void look_at_line();
  void look_at_lock();
  void degraded(std::chrono::milliseconds held);

  Options options_;
  Turnstile& turnstile_;
  const FailureFlag& failure_;
  HealthBoard& health_;
  Withdraw withdraw_;
  // Used by the thread only: since this time the lock was held at every check and the log was not written.
  std::optional<std::chrono::steady_clock::time_point> held_since_;
  std::int64_t log_written_ns_ = 0;
  std::jthread thread_;
};

}  // namespace millrace::storage
