#include "platform/base/memory_size.h"

#include <algorithm>
#include <fstream>
#include <string>

#include <unistd.h>

namespace millrace::base {
namespace {

constexpr const char* kMemoryOfV1 = "/sys/fs/cgroup/memory/memory.limit_in_bytes";

// The limit file of this process's group in version 2; in a container the group is the root that it sees.
std::string memory_of_v2() {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (line.starts_with("0::")) return "/sys/fs/cgroup" + line.substr(3) + "/memory.max";
  }
  return "/sys/fs/cgroup/memory.max";
}

}  // namespace

std::int64_t memory_size() {
  std::int64_t bytes = std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGE_SIZE);
  for (const std::string& path : {memory_of_v2(), std::string(kMemoryOfV1)}) {
    std::ifstream file(path);
    std::int64_t limit = 0;  // "max" is no number: there is no limit
    if (file >> limit && limit > 0) bytes = std::min(bytes, limit);
  }
  return bytes;
}

}  // namespace millrace::base
