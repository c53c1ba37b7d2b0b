#include <utility>

#include "storage/machine_rows.h"
#include "storage/machine_table.h"
#include "storage/machine_waiting.h"
#include "storage/payload_rows.h"
#include "storage/session_rows.h"

namespace millrace::storage {
namespace {

using schemas::Machine;
using schemas::MachineAct;
using schemas::MachineDriver;
using schemas::MachinePhase;
using schemas::MachineState;

void insert_act(Tx& tx, const Store::Options& options, MachineRow& row, MachineAct act, schemas::JobId id) {
  JobRow job;
  job.id = id.uuid.is_nil() ? base::Uuid::make(tx.now) : id.uuid;
  job.kind = schemas::Kind::kMachine;
  job.tenant = row.machine.tenant;
  job.lane_key = schemas::machine_id(row.machine.id);
  job.created_at = base::millis(tx.now);
  job.deadline = base::millis(tx.now + kActDeadline);
  const std::string spec = schemas::to_json(schemas::ActSpec{row.machine.id, act});
  job.spec = insert_spec(tx.db, {.bytes = spec, .blob = std::nullopt, .traceparent = {}});
  row.act = job.id;
  JobMoves(tx, options).enqueue(std::move(job), {});
}

// Its sshd is one that a worker opens, and none is open.
bool lacks_ssh(Db& db, const Machine& machine) {
  return machine.driver == MachineDriver::kSandbox && !endpoint_lives(db, machine);
}

// How an act ended.
struct Outcome {
  MachineAct act = MachineAct::kWake;
  std::optional<schemas::JobError> error;  // absent: it was done
  schemas::ActResult result;
};

std::optional<schemas::JobError> error_of(const End& end) {
  switch (end.status) {
    case schemas::JobStatus::kSucceeded:
      return std::nullopt;
    case schemas::JobStatus::kCancelled:
      return schemas::JobError{base::Code::kJobCancelled, "the act was cancelled"};
    case schemas::JobStatus::kExpired:
      return end.error.value_or(
          schemas::JobError{base::Code::kJobExpired, "no worker began it before its deadline"});
    case schemas::JobStatus::kQueued:
    case schemas::JobStatus::kRunning:
    case schemas::JobStatus::kWaiting:
    case schemas::JobStatus::kFailed:
      break;
  }
  return end.error.value_or(schemas::JobError{base::Code::kInternal, "the act failed"});
}

Outcome outcome_of(Tx& tx, const JobRow& job, const End& end) {
  Outcome out;
  out.error = error_of(end);
  const auto spec = find_spec(tx.db, job.spec);
  const auto act = schemas::act_spec_from_json(spec ? spec->payload.bytes : "");
  if (act) out.act = act->act;
  if (!act && !out.error) out.error = {base::Code::kInternal, act.error().message};
  if (out.error) return out;
  const auto stored = find_result(tx.db, end.result);
  if (!stored) return out;
  auto result = schemas::act_result_from_json(stored->bytes);
  if (result) out.result = std::move(*result);
  if (!result) out.error = {base::Code::kInternal, result.error().message};
  return out;
}

void take_result(Machine& machine, const Outcome& outcome) {
  machine.last_error.clear();
  if (!outcome.result.facts.limits.empty()) machine.facts.limits = outcome.result.facts.limits;
  if (!outcome.result.facts.disk.empty()) machine.facts.disk = outcome.result.facts.disk;
  if (outcome.result.ssh) machine.ssh = outcome.result.ssh;
}

// What is to be done now that no act is under way: the next one, or what waits begins. An sshd that was just
// opened, or could not be, is not opened again at once.
void go_on(Tx& tx, const Store::Options& options, MachineRow& row, MachineAct ended) {
  const Machine& m = row.machine;
  if (const auto act = schemas::next_act(m.desired, m.phase)) return begin_act(tx, options, row, *act, {});
  if (!schemas::is_awake(m.desired, m.phase)) return;
  release_waiting(tx, options, m.id, kSettledAtOnce);
  const bool wants_ssh =
      ended != MachineAct::kOpenSsh && lacks_ssh(tx.db, m) && has_waiting_sessions(tx, m.id);
  if (wants_ssh) begin_act(tx, options, row, MachineAct::kOpenSsh, {});
}

void done(Tx& tx, const Store::Options& options, MachineRow& row, const Outcome& outcome) {
  Machine& m = row.machine;
  m.phase = schemas::phase_after(outcome.act, m.phase);
  take_result(m, outcome);
  row.used_at = base::millis(tx.now);
  save_machine(tx, row);
  if (m.phase == MachinePhase::kDestroyed) {
    const auto gone = no_machine({base::Code::kMachineNotRoutable, "it was destroyed"});
    fail_waiting(tx, options, m.id, gone, kSettledAtOnce);
    return fail_waiting_sessions(tx, m.id, gone);
  }
  go_on(tx, options, row, outcome.act);
}

// The phase is failed; what waits for this very act is told.
void failed_to_start(Tx& tx, const Store::Options& options, MachineRow& row, const Outcome& outcome) {
  row.machine.phase = MachinePhase::kFailed;
  save_machine(tx, row);
  const auto error = no_machine(*outcome.error);
  fail_waiting(tx, options, row.machine.id, error, kSettledAtOnce);
  fail_waiting_sessions(tx, row.machine.id, error);
  go_on(tx, options, row, outcome.act);
}

// Whoever wants it awake by now has come since the act began: his wish gets its own try.
void failed_to_sleep(Tx& tx, const Store::Options& options, MachineRow& row) {
  row.machine.phase = MachinePhase::kFailed;
  save_machine(tx, row);
  if (row.machine.desired == MachineState::kSleeping) return;
  want_state(tx, options, row, row.machine.desired, {});
}

void failed_to_open_ssh(Tx& tx, const Store::Options& options, MachineRow& row, const Outcome& outcome) {
  save_machine(tx, row);
  fail_waiting_sessions(tx, row.machine.id,
                        no_machine({base::Code::kMachineNotRoutable, outcome.error->message}));
  go_on(tx, options, row, outcome.act);
}

void failed(Tx& tx, const Store::Options& options, MachineRow& row, const Outcome& outcome) {
  row.machine.last_error = outcome.error->message;
  row.error_code = outcome.error->code;
  switch (outcome.act) {
    case MachineAct::kWake:
    case MachineAct::kReboot:
      return failed_to_start(tx, options, row, outcome);
    case MachineAct::kSleep:
      return failed_to_sleep(tx, options, row);
    case MachineAct::kDestroy:  // upkeep tries it again after a while
      return save_machine(tx, row);
    case MachineAct::kOpenSsh:
      return failed_to_open_ssh(tx, options, row, outcome);
  }
}

// The sshd goes with what runs on the machine.
bool closes_ssh(MachineAct act) {
  return act == MachineAct::kSleep || act == MachineAct::kReboot || act == MachineAct::kDestroy;
}

}  // namespace

void begin_act(Tx& tx, const Store::Options& options, MachineRow& row, MachineAct act, schemas::JobId id) {
  insert_act(tx, options, row, act, id);
  row.machine.phase = schemas::phase_during(act, row.machine.phase);
  save_machine(tx, row);
}

void begin_first_act(Tx& tx, const Store::Options& options, MachineRow& row, schemas::JobId id) {
  const auto act = schemas::next_act(row.machine.desired, row.machine.phase);
  if (!act) return;
  insert_act(tx, options, row, *act, id);
  tx.db.prepare("UPDATE machines SET act = ?2 WHERE id = ?1").bind(row.machine.id, *row.act).run();
}

bool want_state(Tx& tx, const Store::Options& options, MachineRow& row, MachineState desired,
                const schemas::JobId& fresh) {
  Machine& m = row.machine;
  const bool news = std::exchange(m.desired, desired) != desired;
  std::optional<MachineAct> act;
  if (!row.act) {
    act = schemas::next_act(desired, m.phase);
    const bool tried_again = !act && m.phase == MachinePhase::kFailed;
    if (tried_again) act = desired == MachineState::kRunning ? MachineAct::kWake : MachineAct::kSleep;
  }
  if (act) {
    begin_act(tx, options, row, *act, fresh);
  } else if (news) {
    save_machine(tx, row);
  }
  return act || news;
}

void want_awake(Tx& tx, const Store::Options& options, Machine& machine, const schemas::JobId& fresh) {
  auto row = find_machine_row(tx.db, machine.id);
  if (!row || row->machine.desired == MachineState::kDestroyed) return;
  row->used_at = base::millis(tx.now);
  want_state(tx, options, *row, MachineState::kRunning, fresh);
  machine = std::move(row->machine);
}

void want_ssh(Tx& tx, const Store::Options& options, Machine& machine, const schemas::JobId& fresh) {
  auto row = find_machine_row(tx.db, machine.id);
  if (!row || row->machine.desired == MachineState::kDestroyed) return;
  row->used_at = base::millis(tx.now);
  const bool changed = want_state(tx, options, *row, MachineState::kRunning, fresh);
  const Machine& m = row->machine;
  const bool opens = !changed && !row->act && schemas::is_awake(m.desired, m.phase) && lacks_ssh(tx.db, m);
  if (opens) begin_act(tx, options, *row, MachineAct::kOpenSsh, fresh);
  machine = std::move(row->machine);
}

void act_ended(Tx& tx, const Store::Options& options, const JobRow& act, const End& end) {
  const auto id = schemas::machine_id_from(act.lane_key);
  auto row = id ? find_machine_row(tx.db, *id) : std::nullopt;
  if (!row || row->act != act.id) return;
  const Outcome outcome = outcome_of(tx, act, end);
  row->act.reset();
  if (closes_ssh(outcome.act)) row->machine.ssh.reset();
  if (outcome.error) return failed(tx, options, *row, outcome);
  done(tx, options, *row, outcome);
}

}  // namespace millrace::storage
