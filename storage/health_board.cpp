#include "storage/health_board.h"

#include <utility>

#include "platform/base/log.h"

namespace millrace::storage {

void HealthBoard::set_degraded(std::string detail) {
  std::lock_guard lock(mutex_);
  if (!degraded_.exchange(true)) base::log_warn("store_degraded", {{"reason", detail}});
  store_detail_ = std::move(detail);
}

void HealthBoard::clear_degraded() {
  std::lock_guard lock(mutex_);
  if (degraded_.exchange(false)) base::log_info("store_recovered");
  store_detail_.clear();
}

void HealthBoard::set_disk(bool low, std::string detail) {
  std::lock_guard lock(mutex_);
  if (disk_low_.exchange(low) != low) {
    base::log_warn(low ? "store_disk_low" : "store_disk_recovered", {{"disk", detail}});
  }
  disk_detail_ = std::move(detail);
}

Store::Health HealthBoard::health() const {
  std::lock_guard lock(mutex_);
  Store::Health health;
  health.store_ok = !degraded();
  health.store_detail = store_detail_;
  health.disk_ok = !disk_low();
  health.disk_detail = disk_detail_;
  return health;
}

}  // namespace millrace::storage
