#include "machines/jail_init/resident.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <linux/close_range.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "machines/jail_init/limits.h"

namespace millrace::machines {
namespace {

constexpr int kNumbers = 7;

}  // namespace

int become_resident(char** words) {
  unsigned long long numbers[kNumbers] = {};
  for (unsigned long long& number : numbers) {
    if (*words == nullptr) return 2;
    number = std::strtoull(*words++, nullptr, 10);
  }
  JailLimits limits;
  limits.memory_bytes = numbers[0];
  limits.file_bytes = numbers[1];
  limits.cpu_seconds = numbers[2];
  limits.open_files = static_cast<std::uint32_t>(numbers[3]);
  limits.processes = static_cast<std::uint32_t>(numbers[4]);
  limits.groups = static_cast<std::uint32_t>(numbers[5]);
  if (*words == nullptr) return 2;
  const auto first = static_cast<unsigned>(numbers[6]);
  if (enter_groups(static_cast<int>(first), limits.groups) && set_limits(limits)) {
    ::syscall(SYS_close_range, first, ~0U, CLOSE_RANGE_CLOEXEC);  // the lock of the disk is not the program's
    ::execv(*words, words);
  }
  std::fprintf(stderr, "millrace-jail-init: %s: %s\n", *words, std::strerror(errno));
  return 1;
}

}  // namespace millrace::machines
