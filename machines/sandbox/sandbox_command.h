#pragma once
#include <string>
#include <vector>

#include <sys/types.h>

#include "machines/sandbox/command_pump.h"
#include "machines/sandbox/jail_protocol.h"
#include "machines/sandbox/machine_disk.h"
#include "machines/sandbox/sandbox.h"
#include "platform/base/fd.h"
#include "platform/base/result.h"
#include "platform/process/spawner.h"

namespace millrace::machines {

// What all jails of a sandbox are made from. Immutable.
struct JailParts {
  Sandbox::Options limits;
  base::Fd program;    // millrace-jail-init, opened as a path
  std::string filter;  // the seccomp filter of commands: BPF
};

// What one jail is made of, beside those.
struct JailSite {
  uid_t uid = 0;  // outside
  MachinePlace place;
  std::string artifacts;             // the folder that is seen as /artifacts; empty: none
  std::vector<base::Fd> cgroup_fds;  // MachineLimits
  bool network = false;
};

// The far ends of a command's jail: they go when it has been started.
struct JailEnds {
  base::Fd socket;
  base::Fd order;
  base::Fd filter;
  base::Fd input;
  base::Fd output;
  base::Fd errors;
  base::Fd setup_errors;  // what our program and bubblewrap say
};

// The uid of a machine's processes: 210000 + its number as root, else our own. kHostAgentFailed: the number
// is not one of a machine.
base::Result<uid_t> machine_uid(std::int64_t number);

// Of a process of the machine that may run for so long.
JailLimits jail_limits(const schemas::Machine& machine, const Sandbox::Options& limits, const JailSite& site,
                       std::chrono::milliseconds timeout);

// The bytes of the order's file (machines/sandbox/jail_protocol.h). The variables are what every command gets
// (PATH, HOME), then the order's own, the last of a name; MILLRACE_MACHINE_ID and MILLRACE_ARTIFACTS are ours
// whatever it says.
std::string jail_order(const CommandRequest& order, const JailLimits& limits);

// The command that starts the jail of a command. Borrows the descriptors of all three until it is spawned.
// There is no secret in it: others may read it in /proc.
process::Command jail_command(const JailParts& parts, const JailSite& site, const JailEnds& ends);

// What a resident's jail is made from: the seccomp filter, and the files whose bytes are seen at the paths of
// `read_only` and `hidden_programs` of the order, in its order.
struct ResidentFiles {
  base::Fd filter;
  std::vector<base::Fd> read_only, hidden;
};

// The same for a program of the host's: uid 1000 inside, PATH, HOME and MILLRACE_MACHINE_ID in its
// environment.
process::Command resident_command(const JailParts& parts, const JailSite& site,
                                  const schemas::Machine& machine, const Sandbox::ResidentOrder& order,
                                  const ResidentFiles& files);

// Starts the jail of a command; the command waits in it for `JailWord::kGo`. Errors are for the operator.
base::Result<JailHandles> start_jail(const CommandRequest& order, const JailParts& parts,
                                     const JailSite& site, process::Spawner& spawner);

}  // namespace millrace::machines
