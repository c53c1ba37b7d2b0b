#include "platform/process/confine_process.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform/base/fd.h"

namespace millrace::process {
namespace {

base::Error refused(const char* what) {
  return base::error(base::Code::kInternal, std::string(what) + ": " + std::strerror(errno));
}

std::vector<sock_filter> instructions_in(int fd) {
  std::string bytes;
  char buffer[4096];
  ssize_t count = 0;
  while ((count = ::read(fd, buffer, sizeof buffer)) > 0) {
    bytes.append(buffer, static_cast<std::size_t>(count));
  }
  if (bytes.size() % sizeof(sock_filter) != 0) return {};
  std::vector<sock_filter> instructions(bytes.size() / sizeof(sock_filter));
  std::memcpy(instructions.data(), bytes.data(), bytes.size());
  return instructions;
}

}  // namespace

base::Status confine_process(base::Fd rules, base::Fd filter) {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return refused("no_new_privs cannot be set");
  // Must come first, because the filter denies these calls.
  if (rules && ::syscall(SYS_landlock_restrict_self, rules.get(), 0) != 0) {
    return refused("the Landlock rules cannot be applied");
  }
  rules.reset();
  if (!filter) return {};
  std::vector<sock_filter> instructions = instructions_in(filter.get());
  filter.reset();
  const sock_fprog program{static_cast<unsigned short>(instructions.size()), instructions.data()};
  if (instructions.empty() || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    return refused("the seccomp filter cannot be loaded");
  }
  return {};
}

namespace {

constexpr int kMore = 500;
constexpr int kMost = 1000;

}  // namespace

void offer_to_oom_killer() {
  const base::Fd file(::open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC));
  char text[16]{};
  if (!file || ::pread(file.get(), text, sizeof text - 1, 0) <= 0) return;
  const std::string score = std::to_string(std::min(std::atoi(text) + kMore, kMost));
  static_cast<void>(!::pwrite(file.get(), score.data(), score.size(), 0));
}

}  // namespace millrace::process
