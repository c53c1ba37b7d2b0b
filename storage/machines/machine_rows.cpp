#include "storage/machines/machine_rows.h"

#include <utility>

#include <sqlite3.h>

#include "schemas/machines/machine.h"
#include "storage/db/columns.h"
#include "storage/jobs/payload_rows.h"
#include "storage/machines/machines.h"
#include "storage/machines/ssh_sessions.h"
#include "storage/machines/waiting_executions.h"
#include "storage/sql.h"
#include "storage/webhooks/webhook_outbox.h"
#include "storage/workers/processes.h"

namespace millrace::storage {
namespace {

using schemas::Machine;
using schemas::MachinePhase;

std::optional<schemas::SshEndpoint> endpoint_at(const Statement& row, int column) {
  const auto host = row.optional_text(column);
  const auto owner = row.optional_uuid(column + 2);
  if (!host || !owner) return std::nullopt;
  return schemas::SshEndpoint{*host, static_cast<int>(row.integer(column + 1)), *owner};
}

void read_size(const Statement& row, Machine& m) {
  m.tenant = row.text(0);
  m.name = row.text(1);
  m.driver = static_cast<schemas::MachineDriver>(row.integer(2));
  m.source = static_cast<schemas::MachineSource>(row.integer(3));
  m.vcpu = row.real(4);
  m.memory_mib = static_cast<int>(row.integer(5));
  m.storage_gib = static_cast<int>(row.integer(6));
  m.autosleep_seconds = row.integer(7);
}

void read_life(const Statement& row, Machine& m) {
  m.desired = static_cast<schemas::MachineState>(row.integer(8));
  m.phase = static_cast<schemas::MachinePhase>(row.integer(9));
  m.number = row.integer(10);
  m.revision = row.integer(11);
  m.facts = {row.text(13), row.text(14)};
  m.ssh = endpoint_at(row, 15);
  m.last_error = row.text(18);
  m.created_at = base::wall_from(row.integer(19));
  m.changed_at = base::wall_from(row.integer(20));
  m.progressed_at = base::wall_from(row.integer(21));
}

}  // namespace

base::Error no_such_machine() { return base::error(base::Code::kNotFound, "There is no such machine"); }

base::Error being_destroyed() {
  return base::error(base::Code::kInvalidState, "the machine is being destroyed");
}

std::optional<MachineRow> find_machine_row(Db& db, const base::Uuid& id) {
  auto s = db.prepare(R"(
      SELECT tenant, name, driver, source, vcpu, memory_mib, storage_gib, autosleep_seconds, desired,
          phase, number, revision, settings, limits, disk, ssh_host, ssh_port, ssh_owner, last_error,
          created_at, changed_at, progressed_at, act, used_at, error_code, host
      FROM machines
      WHERE id = ?1)"_sql);
  if (!s.bind(id).step()) return std::nullopt;
  MachineRow row;
  row.machine.id = id;
  read_size(s, row.machine);
  read_life(s, row.machine);
  auto settings = schemas::machine_settings_from_json(s.text(12));
  if (!settings) throw DbError{.message = settings.error().message};
  row.machine.settings = std::move(*settings);
  row.act = s.optional_uuid(22);
  row.used_at = s.integer(23);
  row.machine.host = s.optional_text(25);
  if (!row.machine.last_error.empty()) row.error_code = base::code_named(s.text(24));
  return row;
}

std::optional<MachineRow> find_machine_of(Db& db, const std::string& tenant, const base::Uuid& id) {
  auto row = find_machine_row(db, id);
  if (!row || row->machine.phase == schemas::MachinePhase::kDestroyed) return std::nullopt;
  if (!tenant.empty() && row->machine.tenant != tenant) return std::nullopt;
  return row;
}

std::optional<Machine> find_machine(Db& db, const std::string& tenant, const base::Uuid& id) {
  auto row = find_machine_of(db, tenant, id);
  if (!row) return std::nullopt;
  return std::move(row->machine);
}

namespace {

void record_phase(Tx& tx, const Machine& machine) {
  const std::string type = "machine." + std::string(schemas::name(machine.phase));
  record_webhook_event(tx, {.tenant = machine.tenant,
                            .type = type,
                            .subject = schemas::machine_id(machine.id),
                            .data = schemas::machine_json(machine, true)});
}

// Before a machine is saved: its phase, if anybody is sent changes of it.
std::optional<MachinePhase> phase_for_webhooks(Tx& tx, const Machine& machine) {
  if (!has_webhooks(tx, machine.tenant)) return std::nullopt;
  auto s = tx.db.prepare("SELECT phase FROM machines WHERE id = ?1");
  return s.bind(machine.id).step() ? std::optional(static_cast<MachinePhase>(s.integer(0))) : std::nullopt;
}

}  // namespace

bool insert_machine(Tx& tx, MachineRow& row) {
  Machine& m = row.machine;
  {
    auto next = tx.db.prepare("SELECT coalesce(max(number), 0) + 1 FROM machines");
    next.step();
    m.number = next.integer(0);
  }
  const std::int64_t now = base::millis(tx.now);
  const std::string settings = schemas::to_json(m.settings);
  auto s = tx.db.prepare(R"(
      INSERT INTO machines (id, tenant, name, driver, vcpu, memory_mib, storage_gib,
          autosleep_seconds, desired, number, is_local, created_at, changed_at, source, phase,
          settings, progressed_at, used_at, key_id, host)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?12, ?13, ?14, ?15, ?12, ?17, ?16, ?18)
      ON CONFLICT (id) DO NOTHING)"_sql);
  s.bind(m.id, m.tenant, m.name, m.driver, m.vcpu, m.memory_mib, m.storage_gib, m.autosleep_seconds,
         m.desired, m.number, m.source == schemas::MachineSource::kLocal, now, m.source, m.phase)
      .bind(settings, null_if_empty(row.key_id), base::millis(tx.steady()), m.host)
      .run();
  m.created_at = m.changed_at = m.progressed_at = base::wall_from(now);
  row.used_at = base::millis(tx.steady());
  const bool is_new = s.changes() == 1;
  if (is_new && has_webhooks(tx, m.tenant)) record_phase(tx, m);
  return is_new;
}

void save_machine(Tx& tx, MachineRow& row) {
  Machine& m = row.machine;
  const auto phase_before = phase_for_webhooks(tx, m);
  const std::string settings = schemas::to_json(m.settings);
  const schemas::SshEndpoint none;
  const schemas::SshEndpoint& ssh = m.ssh ? *m.ssh : none;
  auto s = tx.db.prepare(R"(
      UPDATE machines SET name = ?2, vcpu = ?3, memory_mib = ?4, storage_gib = ?5,
          autosleep_seconds = ?6, desired = ?7, source = ?8, phase = ?9, act = ?10, settings = ?11,
          limits = ?12, disk = ?13, ssh_host = nullif(?14, ''), ssh_port = ?15, ssh_owner = ?16,
          last_error = ?17, used_at = ?18, error_code = CASE WHEN ?17 = '' THEN '' ELSE ?20 END,
          changed_at = CASE WHEN phase = ?9 THEN changed_at ELSE ?19 END, progressed_at = ?19,
          revision = revision + 1
      WHERE id = ?1 AND phase <> {phase_destroyed}
      RETURNING revision, changed_at)"_sql);
  s.bind(m.id, m.name, m.vcpu, m.memory_mib, m.storage_gib, m.autosleep_seconds, m.desired, m.source, m.phase,
         row.act, settings, m.facts.limits, m.facts.disk, ssh.host, ssh.port, ssh.owner, m.last_error,
         row.used_at, base::millis(tx.now), base::name(row.error_code));
  if (!s.step()) throw DbError{.message = "a machine that is destroyed does not change"};
  m.revision = s.integer(0);
  m.changed_at = base::wall_from(s.integer(1));
  m.progressed_at = base::wall_from(base::millis(tx.now));
  if (phase_before && *phase_before != m.phase) record_phase(tx, m);
}

bool has_live_endpoint(Db& db, const Machine& machine) {
  if (!machine.ssh) return false;
  auto s = db.prepare("SELECT 1 FROM workers AS w WHERE w.incarnation = ?1");
  return s.bind(machine.ssh->owner).step();
}

std::optional<base::Uuid> find_by_name(Db& db, const std::string& tenant, const std::string& name,
                                       const base::Uuid& but) {
  auto s = db.prepare(R"(
      SELECT id FROM machines INDEXED BY machines_listed
      WHERE tenant = ?1 AND phase <> {phase_destroyed} AND desired <> {desired_destroyed}
          AND name = ?2 AND id <> ?3 LIMIT 1)"_sql);
  if (!s.bind(tenant, name, but).step()) return std::nullopt;
  return s.uuid(0);
}

base::Error name_in_use_error(const std::string& name, const base::Uuid& by) {
  return base::error(
      base::Code::kInvalidState,
      "the name \"" + name + "\" is used by machine " + schemas::machine_id(by) + "; give it another name",
      "name");
}

std::string name_by_id(std::string_view stem, const base::Uuid& id) {
  constexpr std::size_t kTail = 8;
  const std::string text = id.str();
  return std::string(stem.substr(0, schemas::kMachineNameMax - kTail - 1)) + "-" +
         text.substr(text.size() - kTail);
}

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
  job.jumped_ms = tx.jumped.count();
  const std::string spec = schemas::to_json(schemas::ActSpec{row.machine.id, act});
  job.spec = insert_spec(tx.db, {.bytes = spec, .blob = std::nullopt, .traceparent = {}});
  row.act = job.id;
  const base::Uuid inserted = job.id;
  JobTransitions(tx, options).enqueue(std::move(job), {});
  place_job(tx.db, inserted, row.machine.host);
}

// True if a worker has to start the machine's sshd, and none is running.
bool lacks_ssh(Db& db, const Machine& machine) {
  return machine.driver == MachineDriver::kSandbox && !has_live_endpoint(db, machine);
}

// The outcome of an operation.
struct Outcome {
  MachineAct act = MachineAct::kWake;
  std::optional<schemas::JobError> error;  // absent: it succeeded
  schemas::ActResult result;
};

std::optional<schemas::JobError> error_of(const JobTransitionEnd& end) {
  switch (end.status) {
    case schemas::JobStatus::kSucceeded:
      return std::nullopt;
    case schemas::JobStatus::kCancelled:
      return schemas::JobError{base::Code::kJobCancelled, "the machine operation was cancelled"};
    case schemas::JobStatus::kExpired:
      return end.error.value_or(
          schemas::JobError{base::Code::kJobExpired, "no worker started it before its deadline"});
    case schemas::JobStatus::kQueued:
    case schemas::JobStatus::kRunning:
    case schemas::JobStatus::kWaiting:
    case schemas::JobStatus::kFailed:
      break;
  }
  return end.error.value_or(schemas::JobError{base::Code::kInternal, "the machine operation failed"});
}

Outcome outcome_of(Tx& tx, const JobRow& job, const JobTransitionEnd& end) {
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

// Continues after an operation has ended: starts the next one, or releases what waits. An sshd that was just
// started, or could not be started, is not started again at once.
void go_on(Tx& tx, const Store::Options& options, MachineRow& row, MachineAct ended) {
  const Machine& m = row.machine;
  if (const auto act = schemas::next_act(m.desired, m.phase)) return begin_act(tx, options, row, *act, {});
  if (!schemas::is_awake(m.desired, m.phase)) return;
  release_waiting(tx, options, m.id, kSettledPerTransaction);
  const bool wants_ssh =
      ended != MachineAct::kOpenSsh && lacks_ssh(tx.db, m) && has_waiting_sessions(tx, m.id);
  if (wants_ssh) begin_act(tx, options, row, MachineAct::kOpenSsh, {});
}

void done(Tx& tx, const Store::Options& options, MachineRow& row, const Outcome& outcome) {
  Machine& m = row.machine;
  m.phase = schemas::phase_after(outcome.act, m.phase);
  take_result(m, outcome);
  row.used_at = base::millis(tx.steady());
  save_machine(tx, row);
  if (m.phase == MachinePhase::kDestroyed) {
    const auto gone = machine_unavailable({base::Code::kMachineNotRoutable, "it was destroyed"});
    fail_waiting(tx, options, m.id, gone, kSettledPerTransaction);
    return fail_waiting_sessions(tx, m.id, gone);
  }
  go_on(tx, options, row, outcome.act);
}

// Sets the phase to failed and fails what waits for this operation.
void failed_to_start(Tx& tx, const Store::Options& options, MachineRow& row, const Outcome& outcome) {
  row.machine.phase = MachinePhase::kFailed;
  save_machine(tx, row);
  const auto error = machine_unavailable(*outcome.error);
  fail_waiting(tx, options, row.machine.id, error, kSettledPerTransaction);
  fail_waiting_sessions(tx, row.machine.id, error);
  go_on(tx, options, row, outcome.act);
}

// A request to wake the machine came after the operation had started, so it gets its own attempt.
void failed_to_sleep(Tx& tx, const Store::Options& options, MachineRow& row) {
  row.machine.phase = MachinePhase::kFailed;
  save_machine(tx, row);
  if (row.machine.desired == MachineState::kSleeping) return;
  set_desired_state(tx, options, row, row.machine.desired, {});
}

void failed_to_open_ssh(Tx& tx, const Store::Options& options, MachineRow& row, const Outcome& outcome) {
  save_machine(tx, row);
  fail_waiting_sessions(tx, row.machine.id,
                        machine_unavailable({base::Code::kMachineNotRoutable, outcome.error->message}));
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
    case MachineAct::kDestroy:  // maintenance tries it again later
      return save_machine(tx, row);
    case MachineAct::kOpenSsh:
      return failed_to_open_ssh(tx, options, row, outcome);
  }
}

// True if the operation ends the processes on the machine, and with them its sshd.
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

bool set_desired_state(Tx& tx, const Store::Options& options, MachineRow& row, MachineState desired,
                       const schemas::JobId& new_act) {
  Machine& m = row.machine;
  const bool changed = std::exchange(m.desired, desired) != desired;
  std::optional<MachineAct> act;
  if (!row.act) {
    act = schemas::next_act(desired, m.phase);
    const bool tried_again = !act && m.phase == MachinePhase::kFailed;
    if (tried_again) act = desired == MachineState::kRunning ? MachineAct::kWake : MachineAct::kSleep;
  }
  if (act) {
    begin_act(tx, options, row, *act, new_act);
  } else if (changed) {
    save_machine(tx, row);
  }
  return act || changed;
}

void request_wake(Tx& tx, const Store::Options& options, Machine& machine, const schemas::JobId& new_act) {
  auto row = find_machine_row(tx.db, machine.id);
  if (!row || row->machine.desired == MachineState::kDestroyed) return;
  row->used_at = base::millis(tx.steady());
  set_desired_state(tx, options, *row, MachineState::kRunning, new_act);
  machine = std::move(row->machine);
}

void request_ssh(Tx& tx, const Store::Options& options, Machine& machine, const schemas::JobId& new_act) {
  auto row = find_machine_row(tx.db, machine.id);
  if (!row || row->machine.desired == MachineState::kDestroyed) return;
  row->used_at = base::millis(tx.steady());
  const bool changed = set_desired_state(tx, options, *row, MachineState::kRunning, new_act);
  const Machine& m = row->machine;
  const bool opens = !changed && !row->act && schemas::is_awake(m.desired, m.phase) && lacks_ssh(tx.db, m);
  if (opens) begin_act(tx, options, *row, MachineAct::kOpenSsh, new_act);
  machine = std::move(row->machine);
}

void on_act_ended(Tx& tx, const Store::Options& options, const JobRow& act, const JobTransitionEnd& end) {
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
