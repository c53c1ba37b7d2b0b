#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "platform/base/result.h"
#include "storage/direct_io.h"

// Inside storage: how the bytes of a blob are written to its file.
namespace millrace::storage {

// Writes a new file sequentially in pieces of 1 MiB. A large file bypasses the page cache if the file system
// supports it: the data is synced at once and rarely read, so a copy in the cache is useless, and creating
// cache pages is the most expensive part of a write. The last part of the file, smaller than a piece, goes
// through the cache. One thread at a time; every call may block on the disk.
class PieceWriter {
 public:
  static constexpr std::size_t kPieceBytes = 1u << 20;
  static constexpr std::int64_t kLargeBytes = 8 << 20;  // files of at least this size bypass the cache

  // `fd` is owned by the caller, is empty, and must stay open while this object is used. `expected_bytes` 0:
  // unknown.
  PieceWriter(int fd, std::int64_t expected_bytes);

  // Returns the errors of file_error.
  base::Status append(std::string_view bytes);
  // Writes the rest. From then on `fd` writes through the cache. The caller syncs.
  base::Status finish();

 private:
  base::Status write_out();
  bool through_cache();

  int fd_;
  bool direct_ = false;  // O_DIRECT is on: only whole pieces may be written
  DirectRoom piece_;
  std::size_t used_ = 0;
};

}  // namespace millrace::storage
