#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "storage/health_board.h"
#include "storage/turnstile.h"

namespace millrace::storage {

// Looks at the free disk each second, and at how long the writer has stood in line. Past `stuck_after` the
// store is degraded, naming who is in front, and what is not urgent is withdrawn; the writer itself says when
// it is over.
class StoreWatch {
 public:
  struct Options {
    std::string folder;
    std::int64_t disk_free_min_bytes = 0;
    std::chrono::milliseconds stuck_after{2'000};
  };
  using Withdraw = std::function<void(const std::string& why)>;

  StoreWatch(Options options, Turnstile& turnstile, HealthBoard& health, Withdraw withdraw);

  // The last look, bytes; -1: unknown.
  std::int64_t disk_free() const { return disk_free_; }

 private:
  void run(std::stop_token stop);
  void look_at_disk();
  void look_at_line();

  Options options_;
  Turnstile& turnstile_;
  HealthBoard& health_;
  Withdraw withdraw_;
  std::atomic<std::int64_t> disk_free_{-1};
  std::jthread thread_;
};

}  // namespace millrace::storage
