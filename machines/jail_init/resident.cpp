#include "machines/jail_init/resident.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "machines/jail_init/limits.h"

namespace millrace::machines {
namespace {

constexpr int kNumbers = 6;
constexpr int kSignalled = 128;

int not_run(const char* what) {
  std::fprintf(stderr, "millrace-jail-init: %s: %s\n", what, std::strerror(errno));
  return 1;
}

void close_from(unsigned first, unsigned last) { ::syscall(SYS_close_range, first, last, 0); }

// Runs in the child. The program does not inherit the lock of the disk.
[[noreturn]] void exec_program(const JailInitLimits& limits, char** arguments) {
  close_from(3, ~0U);
  ::setsid();
  if (set_limits(limits)) ::execv(*arguments, arguments);
  ::_exit(not_run(*arguments));
}

// Reaps processes of the jail until `program` has ended.
int wait_for(pid_t program) {
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, 0);
    if (ended < 0 && errno != EINTR) return not_run("waitpid");
    if (ended != program) continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
  }
}

}  // namespace

int run_resident(char** arguments) {
  unsigned long long numbers[kNumbers] = {};
  for (unsigned long long& number : numbers) {
    if (*arguments == nullptr) return 2;
    number = std::strtoull(*arguments++, nullptr, 10);
  }
  JailInitLimits limits;
  limits.memory_bytes = numbers[0];
  limits.file_bytes = numbers[1];
  limits.cpu_seconds = numbers[2];
  limits.open_files = static_cast<std::uint32_t>(numbers[3]);
  limits.processes = static_cast<std::uint32_t>(numbers[4]);
  limits.groups = static_cast<std::uint32_t>(numbers[5]);
  if (*arguments == nullptr) return 2;
  if (!enter_groups(kJailGroups, limits.groups)) return not_run("cgroup");
  // Other processes have the same uid, so this denies them access to our memory and descriptors.
  if (::prctl(PR_SET_DUMPABLE, 0) != 0) return not_run("dumpable");
  const pid_t program = ::fork();
  if (program == 0) exec_program(limits, arguments);
  if (program < 0) return not_run("fork");
  close_from(0, kJailDisk - 1);
  close_from(kJailDisk + 1, ~0U);
  return wait_for(program);
}

}  // namespace millrace::machines
