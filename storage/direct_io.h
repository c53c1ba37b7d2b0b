#pragma once
#include <cstddef>
#include <cstdlib>
#include <memory>

// Inside storage: writes past the page cache.
namespace millrace::storage {

// The unit of a direct write, of its place, and of the memory that it is made from. A disk of larger sectors
// refuses such a write with EINVAL.
inline constexpr std::size_t kDirectUnit = 4096;

// From now on `fd` writes past the page cache, or no longer. False: it is as it was, as the file system
// cannot do that; one that can may still refuse a write, with EINVAL.
bool set_direct(int fd, bool on);

struct FreeRoom {
  void operator()(char* bytes) const { std::free(bytes); }
};
using DirectRoom = std::unique_ptr<char, FreeRoom>;

// Memory for direct writes; `bytes` is a multiple of the unit. Empty: there is none.
inline DirectRoom direct_room(std::size_t bytes) {
  return DirectRoom(static_cast<char*>(std::aligned_alloc(kDirectUnit, bytes)));
}

}  // namespace millrace::storage
