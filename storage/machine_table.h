#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "schemas/machine.h"
#include "schemas/machine_lifecycle.h"
#include "storage/job_moves.h"
#include "storage/sqlite.h"
#include "storage/writer.h"

// Inside storage: the rows of machines, and the acts that move them.
namespace millrace::storage {

inline constexpr std::size_t kMachineRowBytes = 1024;  // of a row and its events, for the bound of a group

struct MachineRow {
  schemas::Machine machine{};
  std::optional<base::Uuid> act{};                         // the job of kind machine that is under way
  std::int64_t used_at = 0;                                // wall ms; autosleep counts from it
  base::Code error_code = base::Code::kMachineWakeFailed;  // of `machine.last_error`, if there is one
};

// What a call for a machine is told that is not there, or not for much longer.
base::Error no_such_machine();
base::Error being_destroyed();

// Destroyed ones, too.
std::optional<MachineRow> find_machine_row(Db& db, const base::Uuid& id);
// `tenant` empty: whoever owns it. Not one that is destroyed.
std::optional<MachineRow> find_machine_of(Db& db, const std::string& tenant, const base::Uuid& id);
std::optional<schemas::Machine> find_machine(Db& db, const std::string& tenant, const base::Uuid& id);

// A new row: its number is the next free one, its times are the group's. False: its id exists.
bool insert_machine(Tx& tx, MachineRow& row);
// Writes all of a row that may change; its revision and times follow.
void save_machine(Tx& tx, MachineRow& row);

// True if the worker that listens at its endpoint is in the table of workers.
bool endpoint_lives(Db& db, const schemas::Machine& machine);

// Inserts the act as a job of this id (nil: a fresh one) and writes the row, in the phase that it has
// meanwhile. REQUIRES: none is under way.
void begin_act(Tx& tx, const Store::Options& options, MachineRow& row, schemas::MachineAct act,
               schemas::JobId id);
// The same for a machine that was just made: it stays in phase accepted.
void begin_first_act(Tx& tx, const Store::Options& options, MachineRow& row, schemas::JobId id);
// Wants it so, and begins the act for it unless one is under way. A failed one is tried again. False: it was
// wanted so, and nothing is to be done.
bool want_state(Tx& tx, const Store::Options& options, MachineRow& row, schemas::MachineState desired,
                const schemas::JobId& fresh);

// Wants the machine awake, or its sshd open, and inserts the act for it, of this fresh id, unless one is
// under way. `machine` becomes what its row is.
void want_awake(Tx& tx, const Store::Options& options, schemas::Machine& machine,
                const schemas::JobId& fresh);
void want_ssh(Tx& tx, const Store::Options& options, schemas::Machine& machine, const schemas::JobId& fresh);

// Part of the end of a job of kind machine (JobMoves::end): the phase, the facts, what waits, the next act.
void act_ended(Tx& tx, const Store::Options& options, const JobRow& act, const End& end);
// Part of the end of a job on the machine that `lane_key` names: its idle time begins.
void machine_used(Tx& tx, const std::string& lane_key);

}  // namespace millrace::storage
