#include "storage/machines/waiting_executions.h"

#include <utility>

#include "schemas/machines/machine_lifecycle.h"
#include "storage/jobs/job_transitions.h"
#include "storage/jobs/maintenance_steps.h"
#include "storage/machines/machine_rows.h"
#include "storage/sql.h"

namespace millrace::storage {
namespace {

using schemas::JobStatus;
using schemas::MachinePhase;
using schemas::MachineState;

// The precision of `used_at`, so that the jobs of a busy machine do not cost a write each.
constexpr std::int64_t kUseMs = 1'000;

std::vector<base::Uuid> waiting(Db& db, const base::Uuid& machine, int limit) {
  const std::string lane = schemas::machine_id(machine);
  auto s = db.prepare(R"(
      SELECT id FROM jobs
      WHERE status = {queued} AND run_at = {waits_for_machine} AND lane_key = ?1
      ORDER BY id LIMIT ?2)"_sql);
  s.bind(lane, limit);
  return ids(s);
}

}  // namespace

base::Result<MachineUse> check_machine(const Tx& tx, const std::string& tenant, const base::Uuid& id) {
  auto s = tx.db.prepare(R"(
      SELECT desired, phase, autosleep_seconds > 0 AND used_at < ?3, host FROM machines
      WHERE id = ?1 AND tenant = ?2)"_sql);
  const bool there = s.bind(id, tenant, base::millis(tx.steady()) - kUseMs).step();
  const auto phase = there ? static_cast<MachinePhase>(s.integer(1)) : MachinePhase::kDestroyed;
  if (phase == MachinePhase::kDestroyed) return no_such_machine();
  const auto desired = static_cast<MachineState>(s.integer(0));
  if (desired == MachineState::kDestroyed) return being_destroyed();
  return MachineUse{schemas::is_awake(desired, phase), s.integer(2) == 0, s.optional_text(3)};
}

void use_machine(Tx& tx, const Store::Options& options, const MachineCall& call, const MachineUse& use) {
  if (use.is_awake && !use.use_recorded) mark_machine_used(tx, call.machine);
  if (use.is_awake) return;
  auto machine = find_machine(tx.db, call.tenant, call.machine);
  if (machine) request_wake(tx, options, *machine, call.wake);
}

bool mark_machine_used(Tx& tx, const base::Uuid& id) {
  auto s = tx.db.prepare("UPDATE machines SET used_at = ?2 WHERE id = ?1 AND phase <> {phase_destroyed}"_sql);
  s.bind(id, base::millis(tx.steady())).run();
  return s.changes() == 1;
}

void mark_machine_used_coarsely(Tx& tx, const base::Uuid& id) {
  const std::int64_t now = base::millis(tx.steady());
  tx.db
      .prepare(R"(
      UPDATE machines SET used_at = ?2
      WHERE id = ?1 AND used_at < ?3 AND phase <> {phase_destroyed})"_sql)
      .bind(id, now, now - kUseMs)
      .run();
}

void mark_lane_machine_used(Tx& tx, const std::string& lane_key) {
  const auto id = schemas::machine_id_from(lane_key);
  if (!id) return;
  const std::int64_t now = base::millis(tx.steady());
  tx.db
      .prepare(R"(
          UPDATE machines SET used_at = ?2
          WHERE id = ?1 AND autosleep_seconds > 0 AND used_at < ?3 AND phase <> {phase_destroyed})"_sql)
      .bind(*id, now, now - kUseMs)
      .run();
}

bool has_open_executions(Db& db, const base::Uuid& machine) {
  const std::string lane = schemas::machine_id(machine);
  auto s = db.prepare(R"(
      SELECT 1 FROM jobs
      WHERE lane_key = ?1 AND kind = ?2 AND status < {first_terminal}
          AND lane_key IS NOT NULL AND schedule = {not_scheduled} LIMIT 1)"_sql);
  return s.bind(lane, schemas::Kind::kExec).step();
}

int release_waiting(Tx& tx, const Store::Options& options, const base::Uuid& machine, int limit) {
  JobTransitions transitions(tx, options);
  return for_each_job(tx.db, waiting(tx.db, machine, limit),
                      [&](JobRow& row) { transitions.release_from_machine(row); });
}

int fail_waiting(Tx& tx, const Store::Options& options, const base::Uuid& machine,
                 const schemas::JobError& error, int limit) {
  JobTransitions transitions(tx, options);
  return for_each_job(tx.db, waiting(tx.db, machine, limit), [&](JobRow& row) {
    transitions.end(row, {.status = JobStatus::kFailed, .error = error});
  });
}

int cancel_open_executions(Tx& tx, const Store::Options& options, const base::Uuid& machine, int limit) {
  std::vector<base::Uuid> open;
  {
    const std::string lane = schemas::machine_id(machine);
    auto s = tx.db.prepare(R"(
        SELECT id FROM jobs
        WHERE lane_key = ?1 AND kind = ?2 AND status < {first_terminal} AND lane_key IS NOT NULL
            AND cancel_requested = 0 LIMIT ?3)"_sql);
    s.bind(lane, schemas::Kind::kExec, limit);
    open = ids(s);
  }
  JobTransitions transitions(tx, options);
  return for_each_job(tx.db, open, [&](JobRow& row) {
    if (row.status != JobStatus::kRunning) return transitions.end(row, {.status = JobStatus::kCancelled});
    transitions.request_cancel(row);
  });
}

schemas::JobError machine_unavailable(schemas::JobError why) {
  constexpr std::string_view kOfTheMachine = "the machine";
  const bool reached = why.code != base::Code::kMachineNotRoutable;
  if (reached) why.code = base::Code::kMachineWakeFailed;
  if (why.message.starts_with(kOfTheMachine)) return why;
  const char* what = reached ? "the machine did not wake: " : "the machine cannot be reached: ";
  return {why.code, what + why.message};
}

}  // namespace millrace::storage
