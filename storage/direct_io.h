#pragma once
#include <cstddef>
#include <cstdlib>
#include <memory>

// Inside storage: writes that bypass the page cache.
namespace millrace::storage {

// The alignment of a direct write's size, file offset and memory. A disk with larger sectors refuses such a
// write with EINVAL.
inline constexpr std::size_t kDirectUnit = 4096;

// Turns O_DIRECT on or off for `fd`. False: nothing changed, because the file system does not support it. A
// file system that accepts the flag may still refuse a write with EINVAL.
bool set_direct(int fd, bool on);

struct FreeRoom {
  void operator()(char* bytes) const { std::free(bytes); }
};
using DirectRoom = std::unique_ptr<char, FreeRoom>;

// Allocates memory for direct writes. `bytes` must be a multiple of kDirectAlignment. Empty: out of memory.
inline DirectRoom direct_room(std::size_t bytes) {
  return DirectRoom(static_cast<char*>(std::aligned_alloc(kDirectUnit, bytes)));
}

}  // namespace millrace::storage
