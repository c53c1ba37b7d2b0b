#include "tests/unit/storage/failing_sync.h"

#include <cerrno>
#include <cstddef>
#include <system_error>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace millrace::storage {
namespace {

namespace fs = std::filesystem;

// Matches calls of system call `number` whose first argument is `descriptor`.
void deny(std::vector<sock_filter>& filter, long number, int descriptor) {
  constexpr unsigned kLoad = BPF_LD | BPF_W | BPF_ABS, kEqual = BPF_JMP | BPF_JEQ | BPF_K;
  filter.insert(filter.end(), {BPF_STMT(kLoad, offsetof(seccomp_data, nr)),
                               BPF_JUMP(kEqual, static_cast<unsigned>(number), 0, 3),
                               BPF_STMT(kLoad, offsetof(seccomp_data, args[0])),
                               BPF_JUMP(kEqual, static_cast<unsigned>(descriptor), 0, 1),
                               BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EIO)});
}

}  // namespace

std::vector<int> descriptors_of(const fs::path& file) {
  std::vector<int> found;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code failed;
    if (fs::read_symlink(entry.path(), failed) == file) found.push_back(std::stoi(entry.path().filename()));
  }
  return found;
}

bool fail_syncs_of(const std::vector<int>& descriptors) {
  std::vector<sock_filter> filter;
  for (const int descriptor : descriptors) {
    deny(filter, SYS_fdatasync, descriptor);
    deny(filter, SYS_fsync, descriptor);
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

}  // namespace millrace::storage
