#pragma once
#include <string>

#include <sys/types.h>

#include "machines/sandbox.h"
#include "platform/base/result.h"
#include "platform/process/fd.h"
#include "platform/process/spawner.h"

namespace millrace::machines {

// What all jails of a sandbox are made from. Immutable.
struct JailParts {
  Sandbox::Options limits;
  process::Fd program;  // millrace-jail-init, opened as a path
  std::string filter;   // the seccomp filter of commands: BPF
};

// The far ends of a jail: they go when it has been started.
struct JailEnds {
  process::Fd socket;
  process::Fd order;
  process::Fd filter;
  process::Fd input;
  process::Fd output;
  process::Fd errors;
  process::Fd setup_errors;  // what setpriv and bubblewrap say
};

// The uid of a machine's processes: 210000 + its number as root, else our own. kHostAgentFailed: the number
// is not one of a machine.
base::Result<uid_t> machine_uid(std::int64_t number);

// The bytes of the order's file (machines/jail_protocol.h). The variables are what every command gets (PATH,
// HOME, MILLRACE_MACHINE_ID), then the order's own, the last of a name.
std::string jail_order(const CommandOrder& order, const Sandbox::Options& limits);

// The command that starts the jail with `workspace` as /workspace. Borrows the descriptors of both until it
// is spawned. There is no secret in it: others may read it in /proc.
process::Command jail_command(const JailParts& parts, const JailEnds& ends, uid_t uid,
                              const std::string& workspace);

}  // namespace millrace::machines
