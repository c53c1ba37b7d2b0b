#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "platform/base/result.h"
#include "storage/direct_io.h"

// Inside storage: how the bytes of a blob reach its file.
namespace millrace::storage {

// Writes a new file from front to back, in pieces of a MiB. A large one goes past the page cache, where the
// file system can do that: what is synced at once and seldom read gains nothing from a copy there, and making
// the pages is the dearest part of a write. What is smaller than a piece, at the end of the file, goes
// through the cache. One thread at a time; every call may block on the disk.
class PieceWriter {
 public:
  static constexpr std::size_t kPieceBytes = 1u << 20;
  static constexpr std::int64_t kLargeBytes = 8 << 20;  // from here on past the cache

  // `fd` is the caller's, empty, and stays open while this is used. `expected_bytes`: 0 is not known.
  PieceWriter(int fd, std::int64_t expected_bytes);

  // Errors as file_error.
  base::Status append(std::string_view bytes);
  // Hands the rest to the kernel. From then on `fd` writes through the cache. Sync is the caller's.
  base::Status finish();

 private:
  base::Status write_out();
  bool through_cache();

  int fd_;
  bool direct_ = false;  // O_DIRECT is on: whole pieces only
  DirectRoom piece_;
  std::size_t used_ = 0;
};

}  // namespace millrace::storage
