#pragma once
#include <string>

#include "platform/base/result.h"

namespace millrace::process {

// What a command on a machine never needs, as BPF bytes for `bwrap --add-seccomp-fd`: to trace or read
// another process, mount, enter or make namespaces, load code into the kernel, keep keys in it, set its clock
// or stop it, io_uring, bpf, perf, userfaultfd, files by handle, typing into a terminal (TIOCSTI), another
// personality, and sockets of families other than UNIX, IP and netlink (AF_VSOCK reaches past every network
// namespace). They give EPERM, sockets EAFNOSUPPORT, clone3 ENOSYS (its flags cannot be seen: libc goes back
// to clone); everything else is allowed. Calls of another architecture than ours give ENOSYS. kInternal when
// libseccomp refuses.
base::Result<std::string> job_seccomp_filter();

}  // namespace millrace::process
