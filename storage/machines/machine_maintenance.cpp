#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "storage/jobs/maintenance_steps.h"
#include "storage/machines/machine_rows.h"
#include "storage/machines/machines.h"
#include "storage/machines/ssh_sessions.h"
#include "storage/machines/waiting_executions.h"
#include "storage/sql.h"
#include "storage/writer/readers.h"
#include "storage/writer/store_clock.h"

namespace millrace::storage {
namespace {

using schemas::MachinePhase;
using schemas::MachineState;

// If an operation has failed and its machine is still to be destroyed, the next try waits as long as it has
// been tried so far: the pauses double, within these limits.
constexpr std::chrono::milliseconds kFirstPause{60'000};
constexpr std::chrono::milliseconds kLongestPause{3'600'000};
// An sshd that could not be started again is tried again after this time.
constexpr std::chrono::milliseconds kOpenAgain{60'000};
// A login reports its use every few seconds. A machine used within this time counts as in use, whatever its
// autosleep is.
constexpr std::chrono::milliseconds kRecentUse{15'000};
// Rows of ended sessions are kept as long as other records.
constexpr std::chrono::hours kSessionAge{24 * 7};

// The next lane, after this one, with waiting executions; empty: there is none. One seek.
std::string next_waiting_lane(Db& db, const std::string& lane) {
  auto s = db.prepare(R"(
      SELECT lane_key FROM jobs
      WHERE status = {queued} AND run_at = {waits_for_machine} AND lane_key > ?1
      ORDER BY lane_key LIMIT 1)"_sql);
  return s.bind(lane).step() ? s.text(0) : std::string();
}

// What to do with the executions that wait for a machine.
enum class WaitOutcome { kWait, kRelease, kFail, kGone };
WaitOutcome wait_end(const std::optional<MachineRow>& row) {
  if (!row || row->machine.desired == MachineState::kDestroyed) return WaitOutcome::kGone;
  const schemas::Machine& m = row->machine;
  if (schemas::is_awake(m.desired, m.phase)) return WaitOutcome::kRelease;
  return m.phase == MachinePhase::kFailed && !row->act ? WaitOutcome::kFail : WaitOutcome::kWait;
}

std::optional<MachineRow> machine_of_lane(Db& db, const std::string& lane) {
  const auto id = schemas::machine_id_from(lane);
  return id ? find_machine_row(db, *id) : std::nullopt;
}

int settle_lane(Tx& tx, const Store::Options& options, const std::string& lane, int limit) {
  const auto id = schemas::machine_id_from(lane);
  if (!id) return 0;
  const auto row = find_machine_row(tx.db, *id);
  switch (wait_end(row)) {
    case WaitOutcome::kWait:
      return 0;
    case WaitOutcome::kRelease:
      return release_waiting(tx, options, *id, limit);
    case WaitOutcome::kFail:
      return fail_waiting(tx, options, *id, machine_unavailable({row->error_code, row->machine.last_error}),
                          limit);
    case WaitOutcome::kGone:
      return fail_waiting(tx, options, *id,
                          machine_unavailable({base::Code::kMachineNotRoutable, "it was destroyed"}), limit);
  }
  return 0;
}

int settle_in(Tx& tx, const Store::Options& options, int limit) {
  int settled = 0;
  for (std::string lane = next_waiting_lane(tx.db, {}); !lane.empty() && settled < limit;
       lane = next_waiting_lane(tx.db, lane)) {
    settled += settle_lane(tx, options, lane, limit - settled);
  }
  return settled;
}

std::vector<base::Uuid> idle_machines(Tx& tx, std::size_t limit) {
  auto s = tx.db.prepare(R"(
      SELECT id FROM machines
      WHERE desired = {desired_running} AND phase = {phase_running} AND act IS NULL
          AND autosleep_seconds > 0 AND used_at + autosleep_seconds * 1000 <= ?1 AND used_at <= ?3
      ORDER BY used_at + autosleep_seconds * 1000 LIMIT ?2)"_sql);
  s.bind(base::millis(tx.steady()), static_cast<std::int64_t>(limit), base::millis(tx.steady() - kRecentUse));
  return ids(s);
}

// A machine that is busy, or has a waiting SSH session, is in use now. Its idle time starts again, even if
// nothing ends on it for a long time.
int sleep_in(Tx& tx, const Store::Options& options, const std::vector<schemas::JobId>& acts) {
  const auto machines = idle_machines(tx, acts.size());
  for (std::size_t i = 0; i < machines.size(); ++i) {
    if (has_open_executions(tx.db, machines[i]) || has_waiting_sessions(tx, machines[i])) {
      mark_machine_used(tx, machines[i]);
      continue;
    }
    auto row = find_machine_row(tx.db, machines[i]);
    set_desired_state(tx, options, *row, MachineState::kSleeping, acts[i]);
    audit_machine(tx, row->machine, kGatewayActor, "machine.sleep");
  }
  return static_cast<int>(machines.size());
}

// Machines whose last operation failed wait for their next try; ?1 and ?2 are the shortest and the longest
// pause. If the wall clock was set back, they wait no longer.
std::vector<base::Uuid> machines_off_target(Tx& tx, std::size_t limit) {
  auto s = tx.db.prepare(R"(
      SELECT id FROM machines
      WHERE act IS NULL AND phase <> {phase_destroyed}
          AND NOT (desired = {desired_running} AND phase IN ({phase_running}, {phase_failed}))
          AND NOT (desired = {desired_sleeping} AND phase IN ({phase_sleeping}, {phase_failed}))
          AND (last_error = '' OR progressed_at > ?3
              OR progressed_at + min(max(progressed_at - changed_at, ?1), ?2) <= ?3)
      ORDER BY progressed_at LIMIT ?4)"_sql);
  s.bind(kFirstPause.count(), kLongestPause.count(), base::millis(tx.now), static_cast<std::int64_t>(limit));
  return ids(s);
}

// A machine whose sshd ended with its worker, while sessions are still valid.
struct LostListener {
  base::Uuid machine;
  std::int64_t due = 0;  // 0: at once
};
// Such machines that are awake, if there is a worker that could start the sshd again. If that has failed
// before, the next try is due later.
std::vector<LostListener> lost_listeners(Db& db, base::WallTime now) {
  auto s = db.prepare(R"(
      SELECT DISTINCT m.id, CASE WHEN m.last_error = '' OR m.progressed_at > ?1 THEN 0
          ELSE m.progressed_at + ?2 END
      FROM ssh_sessions AS s INDEXED BY ssh_sessions_old CROSS JOIN machines AS m ON m.id = s.machine
      WHERE s.expires_at > ?1 AND s.status = {ssh_ready} AND m.driver = ?3
          AND m.desired = {desired_running} AND m.phase = {phase_running} AND m.act IS NULL
          AND EXISTS (SELECT 1 FROM worker_slots AS w WHERE w.kind = ?4)
          AND NOT EXISTS (SELECT 1 FROM workers AS w WHERE w.incarnation = m.ssh_owner))"_sql);
  s.bind(base::millis(now), kOpenAgain.count(), schemas::MachineDriver::kSandbox, schemas::Kind::kMachine);
  std::vector<LostListener> found;
  while (s.step()) found.push_back({s.uuid(0), s.integer(1)});
  return found;
}

int reopen_listeners(Tx& tx, const Store::Options& options, std::span<const schemas::JobId> acts) {
  std::size_t used = 0;
  for (const LostListener& listener : lost_listeners(tx.db, tx.now)) {
    if (used == acts.size()) break;
    if (listener.due > base::millis(tx.now)) continue;
    auto row = find_machine_row(tx.db, listener.machine);
    begin_act(tx, options, *row, schemas::MachineAct::kOpenSsh, acts[used++]);
  }
  return static_cast<int>(used);
}

int begin_in(Tx& tx, const Store::Options& options, const std::vector<schemas::JobId>& acts) {
  const auto machines = machines_off_target(tx, acts.size());
  for (std::size_t i = 0; i < machines.size(); ++i) {
    auto row = find_machine_row(tx.db, machines[i]);
    const auto act = schemas::next_act(row->machine.desired, row->machine.phase);
    if (act) begin_act(tx, options, *row, *act, acts[i]);
  }
  const std::span<const schemas::JobId> left(acts);
  return static_cast<int>(machines.size()) + reopen_listeners(tx, options, left.subspan(machines.size()));
}

int drop_replies_in(Tx& tx, int limit) {
  auto s = tx.db.prepare(R"(
      DELETE FROM call_replies
      WHERE key IN (SELECT key FROM call_replies WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2))"_sql);
  s.bind(base::millis(tx.steady()), limit).run();
  return s.changes();
}

int drop_sessions_in(Tx& tx, int limit) {
  auto s = tx.db.prepare(R"(
      DELETE FROM ssh_sessions
      WHERE serial IN (SELECT serial FROM ssh_sessions WHERE expires_at <= ?1 ORDER BY expires_at
          LIMIT ?2))"_sql);
  s.bind(base::millis(tx.now - kSessionAge), limit).run();
  return s.changes();
}

std::optional<std::int64_t> first_sleep(Db& db) {
  auto s = db.prepare(R"(
      SELECT used_at + autosleep_seconds * 1000, used_at FROM machines
      WHERE desired = {desired_running} AND phase = {phase_running} AND act IS NULL
          AND autosleep_seconds > 0
      ORDER BY used_at + autosleep_seconds * 1000)"_sql);
  std::optional<std::int64_t> due;
  while (s.step() && s.integer(0) < due.value_or(INT64_MAX)) {
    const std::int64_t at = std::max(s.integer(0), s.integer(1) + kRecentUse.count());
    due = std::min(due.value_or(at), at);
  }
  return due;
}

std::optional<std::int64_t> first_reopen(Db& db, base::WallTime now) {
  std::optional<std::int64_t> due;
  for (const LostListener& listener : lost_listeners(db, now))
    due = std::min(due.value_or(listener.due), listener.due);
  return due;
}

std::optional<std::int64_t> first_act(Db& db, base::WallTime now) {
  auto s = db.prepare(R"(
      SELECT min(CASE WHEN last_error = '' OR progressed_at > ?3 THEN 0
          ELSE progressed_at + min(max(progressed_at - changed_at, ?1), ?2) END)
      FROM machines
      WHERE act IS NULL AND phase <> {phase_destroyed}
          AND NOT (desired = {desired_running} AND phase IN ({phase_running}, {phase_failed}))
          AND NOT (desired = {desired_sleeping} AND phase IN ({phase_sleeping}, {phase_failed})))"_sql);
  s.bind(kFirstPause.count(), kLongestPause.count(), base::millis(now)).step();
  return s.optional_integer(0);
}

// True if executions wait although their machine has reached its state.
bool is_unsettled(Db& db) {
  for (std::string lane = next_waiting_lane(db, {}); !lane.empty(); lane = next_waiting_lane(db, lane)) {
    const bool named = schemas::machine_id_from(lane).has_value();
    if (named && wait_end(machine_of_lane(db, lane)) != WaitOutcome::kWait) return true;
  }
  return false;
}

}  // namespace

void MachineMaintenance::put_to_sleep(std::vector<schemas::JobId> new_act_ids, Callback<int> done) {
  const Store::Options& options = store_.options();
  submit_step(store_, Writer::Priority::kUrgent, std::move(done),
              [acts = std::move(new_act_ids), &options](Tx& tx) { return sleep_in(tx, options, acts); });
}

void MachineMaintenance::begin_acts(std::vector<schemas::JobId> new_act_ids, Callback<int> done) {
  const Store::Options& options = store_.options();
  submit_step(store_, Writer::Priority::kUrgent, std::move(done),
              [acts = std::move(new_act_ids), &options](Tx& tx) { return begin_in(tx, options, acts); });
}

void MachineMaintenance::resolve_waiting(int limit, Callback<int> done) {
  const Store::Options& options = store_.options();
  submit_step(store_, Writer::Priority::kUrgent, std::move(done),
              [limit, &options](Tx& tx) { return settle_in(tx, options, limit); });
}

void MachineMaintenance::drop_replies(int limit, Callback<int> done) {
  submit_step(store_, Writer::Priority::kUrgent, std::move(done),
              [limit](Tx& tx) { return may_delete_rows(tx) ? drop_replies_in(tx, limit) : 0; });
}

void MachineMaintenance::drop_sessions(int limit, Callback<int> done) {
  submit_step(store_, Writer::Priority::kUrgent, std::move(done),
              [limit](Tx& tx) { return may_delete_rows(tx) ? drop_sessions_in(tx, limit) : 0; });
}

base::Result<std::optional<base::WallTime>> MachineMaintenance::next_due() {
  const base::WallTime now = store_.clock().wall();
  return read(store_.readers(), [now](Db& db) -> std::optional<base::WallTime> {
    if (is_unsettled(db)) return base::WallTime();
    std::optional<std::int64_t> due = first_sleep(db);
    if (due) *due += clock_jumps(db).count();
    for (const auto& at : {first_act(db, now), first_reopen(db, now)}) {
      if (at) due = std::min(due.value_or(*at), *at);
    }
    if (!due) return std::nullopt;
    return base::wall_from(*due);
  });
}

}  // namespace millrace::storage
