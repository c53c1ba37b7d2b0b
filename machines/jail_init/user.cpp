#include "machines/jail_init/user.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace millrace::machines {
namespace {

// The kernel drops the capabilities of root when the uid changes, except those that it was configured to
// keep. This drops them too.
bool drop_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  return ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0 &&
         ::syscall(SYS_capset, &header, none) == 0;
}

// Returns the call that failed. Null: all succeeded.
const char* switch_user(uid_t uid) {
  if (uid == 0) return "uid 0 is refused";
  if (::geteuid() == 0) {
    if (::setgroups(0, nullptr) != 0) return "setgroups";
    if (::setresgid(uid, uid, uid) != 0) return "setresgid";
    if (::setresuid(uid, uid, uid) != 0) return "setresuid";
  }
  if (::getuid() != uid || ::geteuid() != uid) return "setresuid";
  if (!drop_capabilities()) return "capset";
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? nullptr : "no_new_privs";
}

// If the host runs out of memory, the kernel should kill this jail and not the gateway. Raising our own score
// needs no privilege. Child processes inherit it; they cannot lower it, because /proc is read-only in the
// jail.
void offer_to_oom_killer() {
  const int score = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (score < 0) return;
  static_cast<void>(!::write(score, "1000", 4));
  ::close(score);
}

int failed(const char* what) {
  std::fprintf(stderr, "millrace-jail-init: %s: %s\n", what, std::strerror(errno));
  return 1;
}

}  // namespace

int become_user(char** arguments) {
  errno = EINVAL;
  if (arguments[0] == nullptr || arguments[1] == nullptr) return failed("user");
  offer_to_oom_killer();
  if (const char* fault = switch_user(static_cast<uid_t>(std::strtoul(arguments[0], nullptr, 10))))
    return failed(fault);
  ::execv(arguments[1], arguments + 1);
  return failed(arguments[1]);
}

}  // namespace millrace::machines
