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

struct LimitStates {
  LimitState before, after;
};

// What is known of the processes that the command started. A shell hides the signal that killed its child: it
// ends with the code 128 + signal, which a command may also choose itself.
struct ChildEvidence {
  JailUsage usage = {};
  bool has_full_file = false;  // a file that the command wrote has the largest allowed size
};

// True if the way in which the command ended makes a look for a full file worth its time.
bool may_have_full_file(const CommandResult& end);

// Adds the limit that the command has run into. If the command failed, this is its `limit`; otherwise it is a
// warning. A command whose first process was killed for lack of memory becomes kSignalled, one that has not
// `started` for lack of processes kPrepareFailed. Limits count for all commands of the machine, so two
// commands that run at once may report the same one.
CommandResult with_reached_limit(CommandResult end, const schemas::Machine& machine,
                                 const JailInitLimits& limits, bool started, const LimitStates& states,
                                 const ChildEvidence& children);

// The end of a command that was killed because the machine's folder became too large.
CommandResult killed_for_disk(CommandResult end, const schemas::Machine& machine);

}  // namespace millrace::machines
