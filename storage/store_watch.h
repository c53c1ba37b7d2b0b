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

// Looks at the free disk each second, and at how long the writer has stood in line. Past `stuck_after` the
// store is degraded, naming who is in front, and what is not urgent is withdrawn; the writer itself says when
// it is over. While the writer has nothing to do it looks whether anyone could write: a lock that is held at
// every look for so long, while nothing was written to the log, is stuck too. Ends the process where another
// one says that the store failed.
class StoreWatch {
 public:
  struct Options {
    std::string folder;
    std::string log;  // SQLite's write-ahead log: only its time is looked at
    std::int64_t disk_free_min_bytes = 0;
    std::chrono::milliseconds stuck_after{2'000};
  };
  using Withdraw = std::function<void(const std::string& why)>;

  StoreWatch(Options options, Turnstile& turnstile, const FailureFlag& failure, HealthBoard& health,
             Withdraw withdraw);

  // The last look, bytes; -1: unknown.

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
  // The thread's own: since when the lock was held at every look, and the log not written.
  std::optional<std::chrono::steady_clock::time_point> held_since_;
  std::int64_t log_written_ns_ = 0;
  std::jthread thread_;
};

}  // namespace millrace::storage
