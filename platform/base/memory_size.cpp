#include "platform/base/memory_size.h"

#include <algorithm>
#include <fstream>
#include <string>

#include <unistd.h>

namespace millrace::base {
namespace {

// In a container, the process's own group is the root of the hierarchy that it sees.
constexpr const char* kMemoryLimits[] = {"/sys/fs/cgroup/memory.max",
                                         "/sys/fs/cgroup/memory/memory.limit_in_bytes"};

}  // namespace

std::int64_t memory_size() {
  std::int64_t bytes = std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGE_SIZE);
  for (const char* path : kMemoryLimits) {
    std::ifstream file(path);
    std::int64_t limit = 0;  // "max" is no number: there is no limit
    if (file >> limit && limit > 0) bytes = std::min(bytes, limit);
  }
  return bytes;
}

}  // namespace millrace::base
