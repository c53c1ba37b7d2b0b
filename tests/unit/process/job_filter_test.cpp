#include "platform/process/job_filter.h"

#include <cerrno>
#include <csignal>

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace millrace::process {
namespace {

bool load(std::string& bytes) {
  sock_fprog program{static_cast<unsigned short>(bytes.size() / sizeof(sock_filter)),
                     reinterpret_cast<sock_filter*>(bytes.data())};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// The errno of a system call under the filter, in a child process. 0: the call is permitted. -1: the child
// failed.
template <class... Arguments>
int errno_of(long number, Arguments... arguments) {
  auto bytes = job_seccomp_filter();
  if (!bytes) return -1;
  const pid_t child = ::fork();
  if (child == 0) {
    if (!load(*bytes)) ::_exit(255);
    errno = 0;
    const long result = ::syscall(number, arguments...);
    ::_exit(result < 0 ? errno : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) != 255 ? WEXITSTATUS(status) : -1;
}

TEST(JobFilter, WhatNoCommandNeedsIsNotPermitted) {
  EXPECT_EQ(errno_of(SYS_ptrace, 0, 0, 0, 0), EPERM);
  EXPECT_EQ(errno_of(SYS_process_vm_readv, 1, 0, 0, 0, 0, 0), EPERM);
  EXPECT_EQ(errno_of(SYS_unshare, 0), EPERM);
  EXPECT_EQ(errno_of(SYS_setns, -1, 0), EPERM);
  EXPECT_EQ(errno_of(SYS_mount, 0, 0, 0, 0, 0), EPERM);
  EXPECT_EQ(errno_of(SYS_pivot_root, 0, 0), EPERM);
  EXPECT_EQ(errno_of(SYS_bpf, 0, 0, 0), EPERM);
  EXPECT_EQ(errno_of(SYS_keyctl, 0, 0, 0, 0, 0), EPERM);
  EXPECT_EQ(errno_of(SYS_perf_event_open, 0, 0, 0, 0, 0), EPERM);
  EXPECT_EQ(errno_of(SYS_userfaultfd, 0), EPERM);
  EXPECT_EQ(errno_of(SYS_io_uring_setup, 1, 0), EPERM);
  EXPECT_EQ(errno_of(SYS_open_by_handle_at, -1, 0, 0), EPERM);
  EXPECT_EQ(errno_of(SYS_settimeofday, 0, 0), EPERM);
  EXPECT_EQ(errno_of(SYS_io_setup, 1, 0), EPERM);
  EXPECT_EQ(errno_of(SYS_io_submit, 0, 0, 0), EPERM);
  EXPECT_EQ(errno_of(SYS_vmsplice, -1, 0, 0, 0), EPERM);
  EXPECT_EQ(errno_of(SYS_memfd_secret, 0), EPERM);
#ifdef SYS_modify_ldt
  EXPECT_EQ(errno_of(SYS_modify_ldt, 0, 0, 0), EPERM);
#endif
}

TEST(JobFilter, CallsOfANewerKernelAreMissing) {
  constexpr int kFirst = SYS_set_mempolicy_home_node + 1;
  for (const int number : {kFirst, 453, 457, 458, 463, 500, 1000, 0x3fffffff}) {
    EXPECT_EQ(errno_of(number, -1, -1, -1, -1, -1, -1), ENOSYS) << number;
  }
  EXPECT_EQ(errno_of(SYS_getppid), 0);
  EXPECT_EQ(errno_of(SYS_set_mempolicy_home_node, 1, 0, 0, 0), EINVAL)
      << "the newest one that is known is kept";
}

TEST(JobFilter, NewNamespacesAreRefusedAndPlainChildrenAreNot) {
  EXPECT_EQ(errno_of(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0), EPERM);
  EXPECT_EQ(errno_of(SYS_clone, CLONE_NEWNET | CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0), EPERM);
  EXPECT_EQ(errno_of(SYS_clone, SIGCHLD, 0, 0, 0, 0), 0);
  EXPECT_EQ(errno_of(SYS_clone3, 0, 0), ENOSYS);
}

TEST(JobFilter, NoInputReachesATerminal) {
  EXPECT_EQ(errno_of(SYS_ioctl, -1, TIOCSTI, 0), EPERM);
  EXPECT_EQ(errno_of(SYS_ioctl, -1, TIOCSTI | (1L << 40), 0), EPERM) << "the kernel ignores the upper bits";
  EXPECT_EQ(errno_of(SYS_ioctl, -1, TCGETS, 0), EBADF) << "the call must reach the kernel";
}

TEST(JobFilter, ThePersonalityIsTheDefaultOne) {
  EXPECT_EQ(errno_of(SYS_personality, 0UL), 0);
  EXPECT_EQ(errno_of(SYS_personality, 0xffffffffUL), 0);
  EXPECT_EQ(errno_of(SYS_personality, static_cast<unsigned long>(ADDR_NO_RANDOMIZE)), EPERM);
  EXPECT_EQ(errno_of(SYS_personality, static_cast<unsigned long>(READ_IMPLIES_EXEC)), EPERM);
  EXPECT_EQ(errno_of(SYS_personality, 0x80000000UL | ADDR_NO_RANDOMIZE), EPERM);
}

TEST(JobFilter, SocketsAreOfThePlainFamilies) {
  for (const int family : {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK}) {
    EXPECT_NE(errno_of(SYS_socket, family, SOCK_DGRAM, 0), EPERM) << family;
  }
  for (const int family : {AF_ALG, AF_PACKET, AF_VSOCK, AF_BLUETOOTH, AF_X25}) {
    EXPECT_EQ(errno_of(SYS_socket, family, SOCK_DGRAM, 0), EAFNOSUPPORT) << family;
  }
  EXPECT_EQ(errno_of(SYS_socket, AF_UNIX, SOCK_STREAM, 0), 0);
}

TEST(JobFilter, OfNetlinkOnlyInterfacesAndRoutesCanBeRead) {
  EXPECT_EQ(errno_of(SYS_socket, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE), 0);
  for (const int protocol : {NETLINK_NETFILTER, NETLINK_SOCK_DIAG, NETLINK_XFRM, NETLINK_AUDIT,
                             NETLINK_KOBJECT_UEVENT, NETLINK_GENERIC, NETLINK_CRYPTO}) {
    EXPECT_EQ(errno_of(SYS_socket, AF_NETLINK, SOCK_RAW, protocol), EPROTONOSUPPORT) << protocol;
  }
}

}  // namespace
}  // namespace millrace::process
