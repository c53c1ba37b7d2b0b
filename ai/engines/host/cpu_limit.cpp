#include "ai/engines/host/cpu_limit.h"

#include <algorithm>
#include <ctime>

#include <sys/resource.h>

namespace millrace::engines::host {
namespace {

std::chrono::milliseconds own_cpu() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return std::chrono::milliseconds(used.tv_sec * 1'000 + used.tv_nsec / 1'000'000);
}

}  // namespace

// Uses a resource limit instead of a timer: it needs no further system call through the filter, and no
// library can block it for longer than a second.
void bound_cpu(std::chrono::milliseconds cpu) {
  using std::chrono::seconds;
  rlimit limit{};
  ::getrlimit(RLIMIT_CPU, &limit);
  const seconds end = std::chrono::floor<seconds>(own_cpu()) + std::chrono::ceil<seconds>(cpu) + seconds(1);
  limit.rlim_cur = std::min(limit.rlim_max, static_cast<rlim_t>(end.count()));
  ::setrlimit(RLIMIT_CPU, &limit);
}

std::chrono::milliseconds cpu_left() {
  constexpr std::chrono::hours kMost{24};
  rlimit limit{};
  ::getrlimit(RLIMIT_CPU, &limit);
  if (limit.rlim_cur >= static_cast<rlim_t>(std::chrono::seconds(kMost).count())) return kMost;
  return std::chrono::seconds(limit.rlim_cur) - own_cpu();
}

void spend_cpu(std::chrono::milliseconds cpu) {
  rlimit limit{};
  ::getrlimit(RLIMIT_CPU, &limit);
  if (limit.rlim_cur == RLIM_INFINITY) return;
  limit.rlim_cur -= std::min(limit.rlim_cur, static_cast<rlim_t>(cpu / std::chrono::seconds(1)));
  ::setrlimit(RLIMIT_CPU, &limit);
}

}  // namespace millrace::engines::host
