#pragma once
#include "machines/driver.h"
#include "machines/sandbox/group_tree.h"
#include "machines/sandbox/jail_protocol.h"

namespace millrace::machines {

// What a machine's limits have refused, counted before and after a command.
struct LimitState {
  LimitCounts counts;
  bool disk_full = false;
};

// Adds the limit that the command has run into. If the command failed, this is its `limit`; otherwise it is a
// warning. A command whose first process was killed for lack of memory becomes kSignalled, one that
// could not be started for lack of processes kPrepareFailed. Limits count for
// all commands of the machine, so two commands that run at once may report the same one.
CommandResult with_reached_limit(CommandResult end, const schemas::Machine& machine,
                                 const JailInitLimits& limits, const LimitState& before,
                                 const LimitState& after);

// The end of a command that was killed because the machine's folder became too large.
CommandResult killed_for_disk(CommandResult end, const schemas::Machine& machine);

}  // namespace millrace::machines
