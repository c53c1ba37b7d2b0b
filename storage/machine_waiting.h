#pragma once
#include "platform/base/ids.h"
#include "schemas/job.h"
#include "storage/store.h"
#include "storage/writer.h"

// Inside storage: executions and their machine.
namespace millrace::storage {

// Rows that one transaction settles; the rest is upkeep's (MachineUpkeep::settle_waiting), or the next
// transaction's.
inline constexpr int kSettledAtOnce = 256;

// How a machine stands to a job that comes for it.
struct MachineUse {
  bool awake = false;
  bool noted = false;  // that it is in use now: autosleep is off, or counts from a moment ago
};
// kNotFound; kInvalidState: it is being destroyed.
base::Result<MachineUse> look_at_machine(const Tx& tx, const std::string& tenant, const base::Uuid& id);
bool note_use(Tx& tx, const base::Uuid& id);  // false: there is no such machine
// The same to a second: what is asked for often costs no write each.
void note_frequent_use(Tx& tx, const base::Uuid& id);

// True if executions run on it, or are queued for it.
bool has_open_executions(Db& db, const base::Uuid& machine);

// Executions that wait for it, the oldest first: → ready, or failed with `error`. Return how many.
int release_waiting(Tx& tx, const Store::Options& options, const base::Uuid& machine, int limit);
int fail_waiting(Tx& tx, const Store::Options& options, const base::Uuid& machine,
                 const schemas::JobError& error, int limit);
// Open executions that were not asked to stop yet: queued ones end, running ones are asked. Returns how many.
int cancel_open_executions(Tx& tx, const Store::Options& options, const base::Uuid& machine, int limit);

// What its executions and sessions that wait are told when an act has failed so: that the machine did not
// wake, or cannot be reached, and why; a message that begins with the machine says all of it.
schemas::JobError no_machine(schemas::JobError why);

}  // namespace millrace::storage
