#pragma once
#include <cstdint>
#include <mutex>
#include <string>

#include "platform/base/result.h"

namespace millrace::storage {

// Inside storage: the free space that new work must leave on the disk (store.disk_free_min). All writers of
// this process together keep it: a step of one that is still being written counts for the others.
// Thread-safe.
class DiskFloor {
 public:
  DiskFloor(std::string folder, std::int64_t free_min_bytes)
      : folder_(std::move(folder)), free_min_bytes_(free_min_bytes) {}

  // kOverloaded ("disk_free_min") if less than the minimum would be free after `bytes` more.
  base::Status check(std::int64_t bytes);
  // The same; then counts the bytes until `give_back`, which is due when they are on the disk or given up.
  base::Status take(std::int64_t bytes);
  void give_back(std::int64_t bytes);

 private:
  base::Status fits(std::int64_t bytes) const;

  const std::string folder_;
  const std::int64_t free_min_bytes_;
  std::mutex mutex_;
  std::int64_t taken_bytes_ = 0;
};

}  // namespace millrace::storage
