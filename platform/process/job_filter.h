#pragma once
#include <string>

#include "platform/base/result.h"

namespace millrace::process {

// A seccomp filter that denies system calls that a command on a machine never needs, as BPF bytes for `bwrap
// --add-seccomp-fd`. Denied are: tracing and reading other processes; mounting; entering or creating
// namespaces; loading kernel code; kernel keys; setting the clock and stopping the host; io_uring, aio, bpf,
// perf, userfaultfd, memfd_secret, vmsplice, modify_ldt; opening files by handle; injecting terminal input
// (TIOCSTI); changing the personality; and sockets of families other than UNIX, IP and netlink (AF_VSOCK
// bypasses network namespaces), of netlink all protocols but NETLINK_ROUTE (others reach the packet filter).
//
// Denied calls fail with EPERM, sockets with EAFNOSUPPORT or EPROTONOSUPPORT. clone3 fails with ENOSYS,
// because its flags cannot be inspected; libc then falls back to clone. Calls of another architecture, and
// calls that this filter does not know because the kernel is newer, fail with ENOSYS. All other calls are
// allowed. kInternal: libseccomp failed.
base::Result<std::string> job_seccomp_filter();

}  // namespace millrace::process
