#pragma once
#include "platform/base/ids.h"
#include "schemas/jobs/job.h"
#include "storage/store.h"
#include "storage/writer/writer.h"

// Inside storage: executions that use, or wait for, a machine.
namespace millrace::storage {

// Rows that one transaction settles; maintenance (MachineMaintenance::resolve_waiting) or the next
// transaction settles the rest.
inline constexpr int kSettledPerTransaction = 256;

// The state of a machine for a new job.
struct MachineUse {
  bool is_awake = false;
  bool use_recorded = false;  // its use is recorded already: autosleep is off, or counts from a moment ago
  std::optional<std::string> host{};  // Machine::host
};
// kNotFound; kInvalidState: it is being destroyed.
base::Result<MachineUse> check_machine(const Tx& tx, const std::string& tenant, const base::Uuid& id);
// Which machine a job uses, and the new id of the operation that wakes it; nil: makes one.
struct MachineCall {
  std::string tenant;
  base::Uuid machine;
  schemas::JobId wake{schemas::Kind::kMachine, {}};
};
// Marks the machine as used, and wakes it if it is asleep.
void use_machine(Tx& tx, const Store::Options& options, const MachineCall& call, const MachineUse& use);
bool mark_machine_used(Tx& tx, const base::Uuid& id);  // false: there is no such machine
// The same with a precision of one second, so that frequent use does not cost a write each time.
void mark_machine_used_coarsely(Tx& tx, const base::Uuid& id);

// True if executions run on it or are queued for it. Scheduled ones do not count.
bool has_open_executions(Db& db, const base::Uuid& machine);

// Executions that wait for it, the oldest first: → ready, or failed with `error`. Return how many.
int release_waiting(Tx& tx, const Store::Options& options, const base::Uuid& machine, int limit);
int fail_waiting(Tx& tx, const Store::Options& options, const base::Uuid& machine,
                 const schemas::JobError& error, int limit);
// Cancels open executions whose cancellation was not requested yet: queued ones end, running ones get a
// cancel request. Returns how many.
int cancel_open_executions(Tx& tx, const Store::Options& options, const base::Uuid& machine, int limit);

// The error for waiting executions and sessions when an operation has failed with `why`: the machine did not
// wake, or cannot be reached, and why. A message that begins with "the machine" is used unchanged.
schemas::JobError machine_unavailable(schemas::JobError why);

}  // namespace millrace::storage
