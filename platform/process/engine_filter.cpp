#include "platform/process/engine_filter.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>

#include <fcntl.h>
#include <linux/landlock.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform/process/seccomp_context.h"

namespace millrace::process {
namespace {

// The structure of ABI version 6. An older kernel accepts the longer structure if the fields that it does not
// know are zero.
struct Ruleset {
  std::uint64_t files = 0;
  std::uint64_t ports = 0;
  std::uint64_t scoped = 0;
};
constexpr std::uint64_t kTruncate = 1ULL << 14;     // ABI version 3
constexpr std::uint64_t kPorts = 0b11;              // version 4: bind and connect TCP
constexpr std::uint64_t kDeviceIoctl = 1ULL << 15;  // version 5
constexpr std::uint64_t kScopes = 0b11;             // version 6: abstract sockets and signals

constexpr std::uint64_t kReadFile = LANDLOCK_ACCESS_FS_READ_FILE;
constexpr std::uint64_t kWriteFile = LANDLOCK_ACCESS_FS_WRITE_FILE;
constexpr std::uint64_t kRun = LANDLOCK_ACCESS_FS_EXECUTE;
constexpr std::uint64_t kList = LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kFirstVersion = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;

Ruleset ruleset(long version) {
  Ruleset rules;
  rules.files = kFirstVersion;
  if (version >= 2) rules.files |= LANDLOCK_ACCESS_FS_REFER;
  if (version >= 3) rules.files |= kTruncate;
  if (version >= 4) rules.ports = kPorts;
  if (version >= 5) rules.files |= kDeviceIoctl;
  if (version >= 6) rules.scoped = kScopes;
  return rules;
}

base::Error rules_unavailable(const std::string& what) {
  return base::error(base::Code::kInternal, "Landlock: " + what + ": " + std::strerror(errno));
}

// A path that does not exist needs no rule. Rights of folders cannot be granted on a file.
bool allow(int rules, const char* path, std::uint64_t rights) {
  const base::Fd at(::open(path, O_PATH | O_CLOEXEC));
  if (!at) return errno == ENOENT;
  struct stat status {};
  if (::fstat(at.get(), &status) != 0) return false;
  if (!S_ISDIR(status.st_mode)) rights &= ~kList;
  const landlock_path_beneath_attr rule{rights, at.get()};
  return ::syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
}

}  // namespace

base::Result<base::Fd> engine_file_rules(const std::vector<std::string>& readable) {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1)
    return rules_unavailable(
        "this kernel does not support it (it needs 5.13 or later, and lsm= must name landlock)");
  const Ruleset rules_handled = ruleset(version);
  base::Fd rules(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &rules_handled, sizeof rules_handled, 0)));
  if (!rules) return rules_unavailable("cannot create a ruleset");
  bool allowed = allow(rules.get(), "/usr", kReadFile | kList | kRun) &&
                 allow(rules.get(), "/dev/null", kReadFile | kWriteFile) &&
                 allow(rules.get(), "/dev/zero", kReadFile) && allow(rules.get(), "/dev/urandom", kReadFile);
  for (const char* path : kReadableFiles) allowed = allowed && allow(rules.get(), path, kReadFile | kList);
  if (!allowed) return rules_unavailable("cannot add a rule");
  // One that cannot be opened here cannot be read by the child either; its own error says so.
  for (const std::string& path : readable)
    static_cast<void>(allow(rules.get(), path.c_str(), kReadFile | kList));
  return rules;
}

namespace {

constexpr const char* kAllowed[] = {
    // files and pipes
    "read",
    "write",
    "readv",
    "writev",
    "pread64",
    "pwrite64",
    "preadv",
    "pwritev",
    "preadv2",
    "pwritev2",
    "open",
    "openat",
    "openat2",
    "creat",
    "close",
    "close_range",
    "lseek",
    "_llseek",
    "stat",
    "fstat",
    "lstat",
    "stat64",
    "fstat64",
    "lstat64",
    "newfstatat",
    "fstatat64",
    "statx",
    "statfs",
    "fstatfs",
    "access",
    "faccessat",
    "faccessat2",
    "readlink",
    "readlinkat",
    "getcwd",
    "chdir",
    "fchdir",
    "getdents",
    "getdents64",
    "mkdir",
    "mkdirat",
    "rmdir",
    "unlink",
    "unlinkat",
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "symlink",
    "symlinkat",
    "ftruncate",
    "fallocate",
    "fadvise64",
    "fsync",
    "fdatasync",
    "umask",
    "fchmod",
    "utimensat",
    "flock",
    "fcntl",
    "fcntl64",
    "dup",
    "dup2",
    "dup3",
    "pipe",
    "pipe2",
    "poll",
    "ppoll",
    "select",
    "pselect6",
    "_newselect",
    "epoll_create1",
    "epoll_ctl",
    "epoll_wait",
    "epoll_pwait",
    "eventfd2",
    "memfd_create",
    "sendfile",
    "splice",
    "copy_file_range",
    "inotify_init1",
    // memory
    "mmap",
    "mmap2",
    "munmap",
    "mremap",
    "mprotect",
    "madvise",
    "brk",
    "msync",
    "mincore",
    // signals, processes, threads
    "rt_sigaction",
    "rt_sigprocmask",
    "rt_sigreturn",
    "rt_sigpending",
    "rt_sigtimedwait",
    "sigaltstack",
    "sigreturn",
    "kill",
    "tkill",
    "tgkill",
    "wait4",
    "waitid",
    "waitpid",
    "exit",
    "exit_group",
    "execve",
    "execveat",
    "fork",
    "vfork",
    "set_tid_address",
    "set_robust_list",
    "get_robust_list",
    "rseq",
    "futex",
    "futex_time64",
    "membarrier",
    "pidfd_open",
    "restart_syscall",
    "getpid",
    "gettid",
    "getppid",
    "getpgrp",
    "getpgid",
    "setpgid",
    "getsid",
    "setsid",
    "getuid",
    "geteuid",
    "getgid",
    "getegid",
    "getgroups",
    "getresuid",
    "getresgid",
    "capget",
    "sched_yield",
    "sched_getaffinity",
    "sched_setaffinity",
    "sched_getscheduler",
    "sched_setscheduler",
    "sched_getparam",
    "sched_setparam",
    "sched_get_priority_max",
    "sched_get_priority_min",
    "getpriority",
    "setpriority",
    "getrlimit",
    "ugetrlimit",
    "setrlimit",
    "getrusage",
    "prctl",
    "arch_prctl",
    // time, system
    "clock_gettime",
    "clock_gettime64",
    "clock_getres",
    "clock_nanosleep",
    "clock_nanosleep_time64",
    "nanosleep",
    "gettimeofday",
    "time",
    "times",
    "uname",
    "sysinfo",
    "getcpu",
    "getrandom",
    // the socket that is passed in; no socket can be created
    "recvmsg",
    "sendmsg",
    "recvfrom",
    "sendto",
    "shutdown",
    "getsockopt",
};

bool allow_known(const SeccompContext& context) {
  for (const char* name : kAllowed) {
    const int number = seccomp_syscall_resolve_name(name);
    if (number == __NR_SCMP_ERROR) continue;
    if (seccomp_rule_add(context.get(), SCMP_ACT_ALLOW, number, 0) != 0) return false;
  }
  return true;
}

// The ioctls that libc and the engines need. The kernel uses only the low 32 bits of a request, so the filter
// does too.
constexpr unsigned long kIoctls[] = {TCGETS, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX, TIOCGWINSZ};

bool allow_ioctls(const SeccompContext& context) {
  return std::all_of(std::begin(kIoctls), std::end(kIoctls), [&](unsigned long request) {
    const scmp_arg_cmp low = SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffUL, request);
    return seccomp_rule_add_array(context.get(), SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1, &low) == 0;
  });
}

// Allows clone without new namespaces (clone3 passes its flags in memory; it gets ENOSYS, so libc falls back
// to clone), and changing the limits of the own process only.
bool allow_conditionally(const SeccompContext& context) {
  const scmp_arg_cmp own = SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffffUL, 0);
  const scmp_arg_cmp plain = SCMP_A0(SCMP_CMP_MASKED_EQ, kNamespaceFlags, 0);
  return seccomp_rule_add_array(context.get(), SCMP_ACT_ALLOW, SCMP_SYS(clone), 1, &plain) == 0 &&
         seccomp_rule_add_array(context.get(), SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1, &own) == 0 &&
         allow_ioctls(context) &&
         seccomp_rule_add(context.get(), SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) == 0;
}

}  // namespace

base::Result<std::string> engine_seccomp_filter() {
  const SeccompContext context(seccomp_init(SCMP_ACT_ERRNO(EPERM)));
  if (!context || !allow_known(context) || !allow_conditionally(context)) {
    return base::error(base::Code::kInternal, "libseccomp cannot build the filter of the engines");
  }
  return seccomp_bytes(context);
}

}  // namespace millrace::process
