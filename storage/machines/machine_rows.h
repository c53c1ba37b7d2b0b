#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "platform/base/ids.h"
#include "platform/base/result.h"
#include "schemas/machines/machine.h"
#include "schemas/machines/machine_lifecycle.h"
#include "storage/db/db.h"
#include "storage/jobs/job_transitions.h"
#include "storage/writer/writer.h"

// Inside storage: the rows of machines, and the operations that change them.
namespace millrace::storage {

inline constexpr std::size_t kMachineRowBytes = 1024;  // of a row and its events, for the group's limit

struct MachineRow {
  schemas::Machine machine{};
  std::optional<base::Uuid> act{};  // the job of kind machine that is open
  std::string key_id{};             // the API key that creates it; only for insert_machine
  std::int64_t used_at = 0;         // steady time in ms; autosleep counts from it
  base::Code error_code =
      base::Code::kMachineWakeFailed;  // the code of `machine.last_error`, if there is one
};

// Errors for a call to a machine that does not exist, or that is being destroyed.
base::Error no_such_machine();
base::Error being_destroyed();

// Also returns destroyed machines.
std::optional<MachineRow> find_machine_row(Db& db, const base::Uuid& id);
// `tenant` empty: of any tenant. Never a destroyed machine.
std::optional<MachineRow> find_machine_of(Db& db, const std::string& tenant, const base::Uuid& id);
std::optional<schemas::Machine> find_machine(Db& db, const std::string& tenant, const base::Uuid& id);

// Inserts a new row. Its number is the next free one; its times are the group's. False: the id exists.
bool insert_machine(Tx& tx, MachineRow& row);
// Writes all columns that may change, and updates the row's revision and times.
void save_machine(Tx& tx, MachineRow& row);

// True if the worker that listens at its endpoint is registered in `workers`.
bool has_live_endpoint(Db& db, const schemas::Machine& machine);

// Inserts the operation as a job with this id (nil: a new one), and writes the row with the phase of a
// running operation. REQUIRES: no operation is running.
void begin_act(Tx& tx, const Store::Options& options, MachineRow& row, schemas::MachineAct act,
               schemas::JobId id);
// The same for a machine that was just created: it stays in phase accepted.
void begin_first_act(Tx& tx, const Store::Options& options, MachineRow& row, schemas::JobId id);
// Sets the desired state, and starts the operation for it unless one is running. A failed operation is tried
// again. False: the state was already desired and nothing has to be done.
bool set_desired_state(Tx& tx, const Store::Options& options, MachineRow& row, schemas::MachineState desired,
                       const schemas::JobId& new_act);

// Requests the machine to be awake, or its sshd to run, and inserts the operation for it with this new id,
// unless one is running. Updates `machine` to its row.
void request_wake(Tx& tx, const Store::Options& options, schemas::Machine& machine,
                  const schemas::JobId& new_act);
void request_ssh(Tx& tx, const Store::Options& options, schemas::Machine& machine,
                 const schemas::JobId& new_act);

// Part of the end of a job of kind machine (JobTransitions::end): updates the phase and the facts, settles
// what waits, starts the next operation.
void on_act_ended(Tx& tx, const Store::Options& options, const JobRow& act, const JobTransitionEnd& end);
// Part of the end of a job on the machine that `lane_key` names: its idle time begins.
void mark_lane_machine_used(Tx& tx, const std::string& lane_key);

// The names of a tenant's machines are unique, except for machines that are to be destroyed, whose names are
// free. Every write that names a machine checks this in its transaction.

// The machine of `tenant` with this name, other than `but`.
std::optional<base::Uuid> find_by_name(Db& db, const std::string& tenant, const std::string& name,
                                       const base::Uuid& but);
// kInvalidState: machine `by` has this name.
base::Error name_in_use_error(const std::string& name, const base::Uuid& by);

// "STEM-89abcdef": a unique name made from the end of the id. At most 63 characters.
std::string name_by_id(std::string_view stem, const base::Uuid& id);

// Inside storage: audit entries for changes of machines.

inline constexpr std::string_view kGatewayActor = "gateway";  // the gateway itself was the actor

void audit_machine(Tx& tx, const schemas::Machine& machine, std::string_view actor, std::string_view act);

}  // namespace millrace::storage
