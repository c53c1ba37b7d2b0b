#include "ai/engines/host/cpu_bound.h"

#include <ctime>

#include <sys/resource.h>

namespace millrace::engines::host {

// A limit and no timer: it needs no further system call through the filter, and no library can block it away
// for longer than a second.
void bound_cpu(std::chrono::milliseconds cpu) {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  rlimit limit{};
  ::getrlimit(RLIMIT_CPU, &limit);
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(cpu).count();
  limit.rlim_cur = std::min(limit.rlim_max, static_cast<rlim_t>(used.tv_sec + seconds + 1));
  ::setrlimit(RLIMIT_CPU, &limit);
}

}  // namespace millrace::engines::host
