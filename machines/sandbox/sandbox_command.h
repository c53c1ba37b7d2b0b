#pragma once
#include <string>
#include <vector>

#include <sys/types.h>

#include "machines/sandbox/command_pump.h"
#include "machines/sandbox/etc_files.h"
#include "machines/sandbox/jail_protocol.h"
#include "machines/sandbox/machine_disk.h"
#include "machines/sandbox/sandbox.h"
#include "platform/base/fd.h"
#include "platform/base/result.h"
#include "platform/process/spawner.h"

namespace millrace::machines {

// The parts that all jails of a sandbox share. Immutable.
struct JailParts {
  Sandbox::Options limits;
  base::Fd program;    // millrace-jail-init, opened as a path
  std::string filter;  // the seccomp filter of commands, as BPF bytes
};

// The parts that belong to one jail.
struct JailSettings {
  uid_t uid = 0;  // outside the jail
  MachinePaths paths;
  std::string artifacts;             // the folder that is mounted as /artifacts; empty: none
  std::vector<base::Fd> cgroup_fds;  // from MachineLimits
  bool network = false;
};

// The ends of pipes and sockets that the jail of a command uses. We close them once the jail has been
// started.
struct JailFds {
  base::Fd socket;
  base::Fd request;
  base::Fd filter;
  std::vector<JailFile> etc;
  base::Fd input;
  base::Fd output;
  base::Fd errors;
  base::Fd setup_errors;  // error output of our program and of bubblewrap
};

// The uid of a machine's processes: 210000 + the machine's number if we are root, else our own uid.
// kHostAgentFailed: no machine can have this number.
base::Result<uid_t> machine_uid(std::int64_t number);

// The limits for processes of the machine that may run for up to `timeout`.
JailInitLimits jail_limits(const schemas::Machine& machine, const Sandbox::Options& limits,
                           const JailSettings& jail_settings, std::chrono::milliseconds timeout);

// The bytes of the request file (machines/sandbox/jail_protocol.h). The environment holds PATH, HOME, USER
// and LOGNAME, then the variables of `request`. If a name occurs twice, its last value is used.
// MILLRACE_MACHINE_ID and MILLRACE_ARTIFACTS are always set by us and cannot be overridden.
std::string jail_request(const CommandRequest& request, const JailInitLimits& limits);

// The process that starts the jail of a command. It borrows the descriptors of all three arguments until it
// is spawned. It contains no secret, because other users may read it in /proc.
process::Command jail_command(const JailParts& parts, const JailSettings& jail_settings, const JailFds& ends);

// The files for the jail of a resident: the seccomp filter, and the files that are mounted at the paths of
// `read_only` and `hidden_programs` of the ResidentRequest, in the same order.
struct ResidentFiles {
  base::Fd filter;
  std::vector<JailFile> etc;
  std::vector<base::Fd> read_only, hidden;
};

// The same for a program of the host. Its environment has PATH, HOME and
// MILLRACE_MACHINE_ID in its environment.
process::Command resident_command(const JailParts& parts, const JailSettings& jail_settings,
                                  const schemas::Machine& machine, const Sandbox::ResidentRequest& request,
                                  const ResidentFiles& files);

// Starts the jail of a command. The first process waits for `JailMessageType::kGo`. Error messages are for
// the operator.
base::Result<JailHandles> start_jail(const CommandRequest& request, const JailParts& parts,
                                     const JailSettings& jail_settings, process::Spawner& spawner);

}  // namespace millrace::machines
