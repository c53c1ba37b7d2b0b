#include "machines/jail_init/limits.h"

#include <cerrno>

#include <sys/resource.h>
#include <unistd.h>

namespace millrace::machines {
namespace {

bool limit(__rlimit_resource resource, rlim_t value, rlim_t reserve = 0) {
  const rlimit both{value, value + reserve};
  return ::setrlimit(resource, &both) == 0;
}

}  // namespace

bool set_limits(const JailInitLimits& limits) {
  return limit(RLIMIT_CORE, 0) && limit(RLIMIT_NOFILE, limits.open_files) &&
         limit(RLIMIT_FSIZE, limits.file_bytes) && limit(RLIMIT_NPROC, limits.processes) &&
         limit(RLIMIT_DATA, limits.memory_bytes) &&
         limit(RLIMIT_CPU, limits.cpu_seconds, 1);  // SIGXCPU first: SIGKILL does not show the reason
}

bool enter_groups(int first, std::uint32_t count) {
  for (int file = first; file < first + static_cast<int>(count); ++file) {
    if (::write(file, "0", 1) != 1 && errno != ENODEV) return false;
    ::close(file);
  }
  return true;
}

}  // namespace millrace::machines
