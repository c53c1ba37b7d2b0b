#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "platform/base/result.h"
#include "storage/blobs/disk_floor.h"

// Inside storage: writes that bypass the page cache.
namespace millrace::storage {

// The alignment of a direct write's size, file offset and memory. A disk with larger sectors refuses such a
// write with EINVAL.
inline constexpr std::size_t kDirectAlignment = 4096;

// Turns O_DIRECT on or off for `fd`. False: nothing changed, because the file system does not support it. A
// file system that accepts the flag may still refuse a write with EINVAL.
bool set_direct(int fd, bool on);

struct FreeBuffer {
  void operator()(char* bytes) const { std::free(bytes); }
};
using DirectBuffer = std::unique_ptr<char, FreeBuffer>;

// Allocates memory for direct writes. `bytes` must be a multiple of kDirectAlignment. Empty: out of memory.
inline DirectBuffer allocate_direct_buffer(std::size_t bytes) {
  return DirectBuffer(static_cast<char*>(std::aligned_alloc(kDirectAlignment, bytes)));
}

// Inside storage: how the bytes of a blob are written to its file.

// Writes a new file sequentially in pieces of 1 MiB; zeros become holes. Disk space is taken step by step, so
// a declared size takes none. A large file bypasses the page cache if the file system supports it: the data
// is synced at once and rarely read, so a copy in the cache is useless, and creating cache pages is the most
// expensive part of a write. The last part of the file, smaller than a piece, goes through the cache. One
// thread at a time; every call may block on the disk.
class PieceWriter {
 public:
  static constexpr std::size_t kPieceBytes = 1u << 20;
  static constexpr std::int64_t kLargeBytes = 8 << 20;  // files of at least this size bypass the cache

  static constexpr std::size_t kHoleBytes = 64u << 10;  // zeros of this length and alignment become a hole

  // `fd` is owned by the caller, is empty, and must stay open while this object is used. `expected_bytes` 0:
  // unknown. `floor`: checked before each piece; null: it is for accepted work, which may use the whole disk.
  PieceWriter(int fd, std::int64_t expected_bytes, DiskFloor* floor);

  // Returns the errors of file_error and of DiskFloor.
  base::Status append(std::string_view bytes);
  // Writes the rest and sets the length. From then on `fd` writes through the cache. The caller syncs.
  base::Status finish();

 private:
  base::Status write_out();
  base::Status write_data(std::string_view data);
  base::Status write_all(std::string_view rest);
  bool switch_to_cache();

  int fd_;
  const bool preallocates_;
  DiskFloor* const floor_;
  std::int64_t at_ = 0;  // bytes written or skipped
  bool direct_ = false;  // O_DIRECT is on: only whole pieces may be written
  DirectBuffer piece_;
  std::size_t used_ = 0;
};

}  // namespace millrace::storage
