#pragma once
#include <atomic>
#include <mutex>
#include <string>

#include "storage/store.h"

namespace millrace::storage {

// The current problems of the store. The monitor and the commit thread write it; submit (without a lock) and
// health checks read it. Thread-safe.
class HealthBoard {
 public:
  bool degraded() const { return degraded_.load(std::memory_order_relaxed); }
  bool disk_low() const { return disk_low_.load(std::memory_order_relaxed); }

  void set_degraded(std::string detail);
  void clear_degraded();
  void set_disk(bool low, std::string detail);
  Store::Health health() const;

 private:
  std::atomic<bool> degraded_{false}, disk_low_{false};
  mutable std::mutex mutex_;
  std::string store_detail_, disk_detail_;
};

}  // namespace millrace::storage
