#include "storage/blobs/disk_floor.h"

#include <chrono>

#include "platform/base/bytes.h"
#include "storage/data_dir.h"

namespace millrace::storage {

base::Status DiskFloor::check(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  return fits(bytes);
}

base::Status DiskFloor::take(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (auto fit = fits(bytes); !fit) return fit;
  taken_bytes_ += bytes;
  return {};
}

void DiskFloor::give_back(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  taken_bytes_ -= bytes;
}

// REQUIRES: the mutex is held.
base::Status DiskFloor::fits(std::int64_t bytes) const {
  const std::int64_t free = free_bytes(folder_);
  if (free < 0 || free - taken_bytes_ - bytes >= free_min_bytes_) return {};
  base::Error error = base::error(
      base::Code::kOverloaded, "less than " + base::format_bytes(free_min_bytes_) +
                                   " would be left on the disk of the data directory (store.disk_free_min)");
  error.retry_after = std::chrono::seconds(30);
  return error;
}

}  // namespace millrace::storage
