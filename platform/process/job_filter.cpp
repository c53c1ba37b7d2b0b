#include "platform/process/job_filter.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "platform/process/seccomp_context.h"

namespace millrace::process {
namespace {

constexpr const char* kDenied[] = {
    // other processes
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "process_madvise",
    "pidfd_getfd",
    "kcmp",
    "move_pages",
    "migrate_pages",
    // namespaces and mounts
    "mount",
    "umount",
    "umount2",
    "pivot_root",
    "chroot",
    "setns",
    "unshare",
    "open_tree",
    "move_mount",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "mount_setattr",
    "open_by_handle_at",
    "name_to_handle_at",
    "fanotify_init",
    "fanotify_mark",
    // code and keys in the kernel
    "init_module",
    "finit_module",
    "delete_module",
    "create_module",
    "query_module",
    "get_kernel_syms",
    "kexec_load",
    "kexec_file_load",
    "bpf",
    "perf_event_open",
    "userfaultfd",
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "add_key",
    "request_key",
    "keyctl",
    // asynchronous and unusual ways to memory, where the kernel had most of its faults
    "io_setup",
    "io_destroy",
    "io_submit",
    "io_cancel",
    "io_getevents",
    "io_pgetevents",
    "vmsplice",
    "memfd_secret",
    "map_shadow_stack",
    "remap_file_pages",
    "modify_ldt",
    // the host as a whole
    "reboot",
    "swapon",
    "swapoff",
    "acct",
    "quotactl",
    "quotactl_fd",
    "syslog",
    "vhangup",
    "sethostname",
    "setdomainname",
    "nfsservctl",
    "lookup_dcookie",
    "_sysctl",
    "sysfs",
    "uselib",
    "ustat",
    // clocks
    "settimeofday",
    "stime",
    "clock_settime",
    "clock_settime64",
    "clock_adjtime",
    "clock_adjtime64",
    "adjtimex",
    // ports
    "iopl",
    "ioperm",
    "vm86",
    "vm86old",
};

constexpr unsigned long kLow = 0xffffffffUL;  // the kernel uses only these bits of a request

bool deny(const SeccompContext& context, int call, scmp_arg_cmp argument, int error = EPERM) {
  const auto action = SCMP_ACT_ERRNO(static_cast<unsigned>(error));
  return seccomp_rule_add_array(context.get(), action, call, 1, &argument) == 0;
}

bool deny_known(const SeccompContext& context) {
  return std::all_of(std::begin(kDenied), std::end(kDenied), [&](const char* name) {
    const int number = seccomp_syscall_resolve_name(name);
    if (number == __NR_SCMP_ERROR) return true;  // does not exist on this architecture
    return seccomp_rule_add(context.get(), SCMP_ACT_ERRNO(EPERM), number, 0) == 0;
  });
}

// One rule per namespace flag, because a masked argument can only be compared for equality.
bool deny_namespaces(const SeccompContext& context) {
  for (unsigned long long flag = 1; flag <= kNamespaceFlags; flag <<= 1) {
    if ((kNamespaceFlags & flag) == 0) continue;
    if (!deny(context, SCMP_SYS(clone), SCMP_A0(SCMP_CMP_MASKED_EQ, flag, flag))) return false;
  }
  return seccomp_rule_add(context.get(), SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) == 0;
}

// Denies changing the limits of other processes, above all of the jail's first process. `prlimit` with pid 0
// stays allowed, because setrlimit uses it.
bool deny_limits(const SeccompContext& context) {
  return deny(context, SCMP_SYS(prlimit64), SCMP_A0(SCMP_CMP_NE, 0));
}

bool deny_terminal_input(const SeccompContext& context) {
  return deny(context, SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_MASKED_EQ, kLow, TIOCSTI)) &&
         deny(context, SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_MASKED_EQ, kLow, TIOCLINUX));
}

// Allows personality 0 (the default) and all bits set (a query). A rule can compare an argument only once. So
// each other bit is compared together with the highest bit: the two are equal only in these two values.
bool deny_personalities(const SeccompContext& context) {
  constexpr unsigned long kTop = 0x80000000UL;
  for (unsigned long bit = 1; bit < kTop; bit <<= 1) {
    const unsigned long both = kTop | bit;
    if (!deny(context, SCMP_SYS(personality), SCMP_A0(SCMP_CMP_MASKED_EQ, both, bit)) ||
        !deny(context, SCMP_SYS(personality), SCMP_A0(SCMP_CMP_MASKED_EQ, both, kTop))) {
      return false;
    }
  }
  return true;
}

// Of netlink, only the protocol with which programs list network interfaces: not that of the packet filter.
bool deny_netlink(const SeccompContext& context, int call) {
  const scmp_arg_cmp both[] = {SCMP_A0(SCMP_CMP_EQ, AF_NETLINK), SCMP_A2(SCMP_CMP_NE, NETLINK_ROUTE)};
  return seccomp_rule_add_array(context.get(), SCMP_ACT_ERRNO(EPROTONOSUPPORT), call, 2, both) == 0;
}

bool deny_sockets(const SeccompContext& context) {
  constexpr int kKept[] = {AF_UNSPEC, AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
  for (const int call : {SCMP_SYS(socket), SCMP_SYS(socketpair)}) {
    for (unsigned family = 0; family < AF_NETLINK; ++family) {
      const bool kept =
          std::find(std::begin(kKept), std::end(kKept), static_cast<int>(family)) != std::end(kKept);
      if (!kept && !deny(context, call, SCMP_A0(SCMP_CMP_EQ, family), EAFNOSUPPORT)) return false;
    }
    if (!deny(context, call, SCMP_A0(SCMP_CMP_GT, AF_NETLINK), EAFNOSUPPORT)) return false;
    if (!deny_netlink(context, call)) return false;
  }
  return true;
}

// A new call has a number above all that are known here. Programs use it only if the kernel has it; so it
// looks as if this kernel had not. libseccomp compares no ranges; this precedes its program, whose jumps are
// relative.
std::string with_new_calls_missing(const std::string& filter) {
  constexpr std::uint32_t kNewest = SYS_set_mempolicy_home_node;
  constexpr std::uint32_t kX32 =
      0x40000000;  // numbers of another architecture, which libseccomp's program refuses
  const sock_filter head[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, seccomp_arch_native(), 0, 4),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, kNewest, 0, 2),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kX32, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
  };
  return std::string(reinterpret_cast<const char*>(head), sizeof head) + filter;
}

}  // namespace

base::Result<std::string> job_seccomp_filter() {
  const SeccompContext context(seccomp_init(SCMP_ACT_ALLOW));
  const bool built = context &&
                     seccomp_attr_set(context.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS)) == 0 &&
                     deny_known(context) && deny_namespaces(context) && deny_limits(context) &&
                     deny_terminal_input(context) && deny_personalities(context) && deny_sockets(context);
  if (!built) return base::error(base::Code::kInternal, "libseccomp cannot build the filter of commands");
  auto filter = seccomp_bytes(context);
  if (!filter) return filter;
  return with_new_calls_missing(*filter);
}

}  // namespace millrace::process
