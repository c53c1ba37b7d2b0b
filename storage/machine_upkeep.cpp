#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "storage/machine_audit.h"
#include "storage/machine_rows.h"
#include "storage/machine_table.h"
#include "storage/machine_waiting.h"
#include "storage/readers.h"
#include "storage/session_rows.h"
#include "storage/upkeep_steps.h"

namespace millrace::storage {
namespace {

using schemas::MachinePhase;
using schemas::MachineState;

// A machine whose act has failed, and that is to be destroyed all the same, is tried again after as long as
// it has been tried so far: the pauses double, between these.
constexpr std::chrono::milliseconds kFirstPause{60'000};
constexpr std::chrono::milliseconds kLongestPause{3'600'000};
// An sshd that could not be opened again is tried again after this.
constexpr std::chrono::milliseconds kOpenAgain{60'000};
// A login tells of itself every few seconds: what was used within this is in use, whatever its autosleep.
constexpr std::chrono::milliseconds kUseKnown{15'000};
// Rows of ended sessions stay as long as other records.
constexpr std::chrono::hours kSessionAge{24 * 7};

// The lane of executions that wait which comes after this one; empty: there is none. One seek.
std::string next_waiting_lane(Db& db, const std::string& lane) {
  auto s = db.prepare(
      "SELECT lane_key FROM jobs WHERE status = 0 AND run_at = 9223372036854775807 AND lane_key > ?1 "
      "ORDER BY lane_key LIMIT 1");
  return s.bind(lane).step() ? s.text(0) : std::string();
}

// What becomes of executions that wait for a machine.
enum class WaitEnd { kWait, kRelease, kFail, kGone };
WaitEnd wait_end(const std::optional<MachineRow>& row) {
  if (!row || row->machine.desired == MachineState::kDestroyed) return WaitEnd::kGone;
  const schemas::Machine& m = row->machine;
  if (schemas::is_awake(m.desired, m.phase)) return WaitEnd::kRelease;
  return m.phase == MachinePhase::kFailed && !row->act ? WaitEnd::kFail : WaitEnd::kWait;
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
    case WaitEnd::kWait:
      return 0;
    case WaitEnd::kRelease:
      return release_waiting(tx, options, *id, limit);
    case WaitEnd::kFail:
      return fail_waiting(tx, options, *id, no_machine({row->error_code, row->machine.last_error}), limit);
    case WaitEnd::kGone:
      return fail_waiting(tx, options, *id, no_machine({base::Code::kMachineNotRoutable, "it was destroyed"}),
                          limit);
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

std::vector<base::Uuid> drowsy(Tx& tx, std::size_t limit) {
  auto s = tx.db.prepare(
      "SELECT id FROM machines WHERE desired = 0 AND phase = 2 AND act IS NULL AND autosleep_seconds > 0 "
      "AND used_at + autosleep_seconds * 1000 <= ?1 AND used_at <= ?3 "
      "ORDER BY used_at + autosleep_seconds * 1000 LIMIT ?2");
  s.bind(base::millis(tx.now), static_cast<std::int64_t>(limit), base::millis(tx.now - kUseKnown));
  return ids(s);
}

// One that is busy, or that somebody waits to enter, is in use now: its time begins again, also when nothing
// ends on it for long.
int sleep_in(Tx& tx, const Store::Options& options, const std::vector<schemas::JobId>& acts) {
  const auto machines = drowsy(tx, acts.size());
  for (std::size_t i = 0; i < machines.size(); ++i) {
    if (has_open_executions(tx.db, machines[i]) || has_waiting_sessions(tx, machines[i])) {
      note_use(tx, machines[i]);
      continue;
    }
    auto row = find_machine_row(tx.db, machines[i]);
    want_state(tx, options, *row, MachineState::kSleeping, acts[i]);
    audit_machine(tx, row->machine, kGatewayActor, "machine.sleep");
  }
  return static_cast<int>(machines.size());
}

// Those whose last act has failed wait for their next try: ?1 and ?2 are the shortest and the longest pause.
std::vector<base::Uuid> astray(Tx& tx, std::size_t limit) {
  auto s = tx.db.prepare(
      "SELECT id FROM machines WHERE act IS NULL AND phase <> 6 AND NOT (desired = 0 AND phase IN (2, 7)) "
      "AND NOT (desired = 1 AND phase IN (4, 7)) AND (last_error = '' OR "
      "progressed_at + min(max(progressed_at - changed_at, ?1), ?2) <= ?3) ORDER BY progressed_at LIMIT ?4");
  s.bind(kFirstPause.count(), kLongestPause.count(), base::millis(tx.now), static_cast<std::int64_t>(limit));
  return ids(s);
}

// An sshd whose worker has gone, though whoever has a session still counts on it.
struct LostDoor {
  base::Uuid machine;
  std::int64_t due = 0;  // 0: at once
};
// Of machines that are awake, while a worker is there that could open it again. One for which that has failed
// waits for its next try.
std::vector<LostDoor> lost_doors(Db& db, base::WallTime now) {
  auto s = db.prepare(
      "SELECT DISTINCT m.id, CASE WHEN m.last_error = '' THEN 0 ELSE m.progressed_at + ?2 END "
      "FROM ssh_sessions AS s INDEXED BY ssh_sessions_old CROSS JOIN machines AS m ON m.id = s.machine "
      "WHERE s.expires_at > ?1 AND s.status = 1 AND m.driver = ?3 AND m.desired = 0 AND m.phase = 2 "
      "AND m.act IS NULL AND EXISTS (SELECT 1 FROM worker_slots AS w WHERE w.kind = ?4) "
      "AND NOT EXISTS (SELECT 1 FROM workers AS w WHERE w.incarnation = m.ssh_owner)");
  s.bind(base::millis(now), kOpenAgain.count(), schemas::MachineDriver::kSandbox, schemas::Kind::kMachine);
  std::vector<LostDoor> found;
  while (s.step()) found.push_back({s.uuid(0), s.integer(1)});
  return found;
}

int open_doors(Tx& tx, const Store::Options& options, std::span<const schemas::JobId> acts) {
  std::size_t used = 0;
  for (const LostDoor& door : lost_doors(tx.db, tx.now)) {
    if (used == acts.size()) break;
    if (door.due > base::millis(tx.now)) continue;
    auto row = find_machine_row(tx.db, door.machine);
    begin_act(tx, options, *row, schemas::MachineAct::kOpenSsh, acts[used++]);
  }
  return static_cast<int>(used);
}

int begin_in(Tx& tx, const Store::Options& options, const std::vector<schemas::JobId>& acts) {
  const auto machines = astray(tx, acts.size());
  for (std::size_t i = 0; i < machines.size(); ++i) {
    auto row = find_machine_row(tx.db, machines[i]);
    const auto act = schemas::next_act(row->machine.desired, row->machine.phase);
    if (act) begin_act(tx, options, *row, *act, acts[i]);
  }
  const std::span<const schemas::JobId> left(acts);
  return static_cast<int>(machines.size()) + open_doors(tx, options, left.subspan(machines.size()));
}

int drop_replies_in(Tx& tx, int limit) {
  auto s = tx.db.prepare(
      "DELETE FROM call_replies WHERE key IN (SELECT key FROM call_replies WHERE expires_at <= ?1 "
      "ORDER BY expires_at LIMIT ?2)");
  s.bind(base::millis(tx.now), limit).run();
  return s.changes();
}

int drop_sessions_in(Tx& tx, int limit) {
  auto s = tx.db.prepare(
      "DELETE FROM ssh_sessions WHERE serial IN (SELECT serial FROM ssh_sessions WHERE expires_at <= ?1 "
      "ORDER BY expires_at LIMIT ?2)");
  s.bind(base::millis(tx.now - kSessionAge), limit).run();
  return s.changes();
}

std::optional<std::int64_t> first_sleep(Db& db) {
  auto s = db.prepare(
      "SELECT used_at + autosleep_seconds * 1000, used_at FROM machines WHERE desired = 0 AND phase = 2 "
      "AND act IS NULL AND autosleep_seconds > 0 ORDER BY used_at + autosleep_seconds * 1000");
  std::optional<std::int64_t> due;
  while (s.step() && s.integer(0) < due.value_or(INT64_MAX)) {
    const std::int64_t at = std::max(s.integer(0), s.integer(1) + kUseKnown.count());
    due = std::min(due.value_or(at), at);
  }
  return due;
}

std::optional<std::int64_t> first_door(Db& db, base::WallTime now) {
  std::optional<std::int64_t> due;
  for (const LostDoor& door : lost_doors(db, now)) due = std::min(due.value_or(door.due), door.due);
  return due;
}

std::optional<std::int64_t> first_act(Db& db) {
  auto s = db.prepare(
      "SELECT min(CASE WHEN last_error = '' THEN 0 ELSE "
      "progressed_at + min(max(progressed_at - changed_at, ?1), ?2) END) FROM machines WHERE act IS NULL AND "
      "phase <> 6 AND NOT (desired = 0 AND phase IN (2, 7)) AND NOT (desired = 1 AND phase IN (4, 7))");
  s.bind(kFirstPause.count(), kLongestPause.count()).step();
  return s.optional_integer(0);
}

// Executions wait although their machine is where it was going.
bool is_unsettled(Db& db) {
  for (std::string lane = next_waiting_lane(db, {}); !lane.empty(); lane = next_waiting_lane(db, lane)) {
    const bool named = schemas::machine_id_from(lane).has_value();
    if (named && wait_end(machine_of_lane(db, lane)) != WaitEnd::kWait) return true;
  }
  return false;
}

}  // namespace

void MachineUpkeep::put_to_sleep(std::vector<schemas::JobId> fresh_acts, Done<int> done) {
  const Store::Options& options = store_.options();
  submit_step(store_, Writer::Priority::kUrgent, std::move(done),
              [acts = std::move(fresh_acts), &options](Tx& tx) { return sleep_in(tx, options, acts); });
}

void MachineUpkeep::begin_acts(std::vector<schemas::JobId> fresh_acts, Done<int> done) {
  const Store::Options& options = store_.options();
  submit_step(store_, Writer::Priority::kUrgent, std::move(done),
              [acts = std::move(fresh_acts), &options](Tx& tx) { return begin_in(tx, options, acts); });
}

void MachineUpkeep::settle_waiting(int limit, Done<int> done) {
  const Store::Options& options = store_.options();
  submit_step(store_, Writer::Priority::kUrgent, std::move(done),
              [limit, &options](Tx& tx) { return settle_in(tx, options, limit); });
}

void MachineUpkeep::drop_replies(int limit, Done<int> done) {
  submit_step(store_, Writer::Priority::kUrgent, std::move(done),
              [limit](Tx& tx) { return may_retire_rows(tx) ? drop_replies_in(tx, limit) : 0; });
}

void MachineUpkeep::drop_sessions(int limit, Done<int> done) {
  submit_step(store_, Writer::Priority::kUrgent, std::move(done),
              [limit](Tx& tx) { return may_retire_rows(tx) ? drop_sessions_in(tx, limit) : 0; });
}

base::Result<std::optional<base::WallTime>> MachineUpkeep::next_due() {
  const base::WallTime now = store_.clock().wall();
  return read(store_.readers(), [now](Db& db) -> std::optional<base::WallTime> {
    if (is_unsettled(db)) return base::WallTime();
    std::optional<std::int64_t> due = first_sleep(db);
    for (const auto& at : {first_act(db), first_door(db, now)}) {
      if (at) due = std::min(due.value_or(*at), *at);
    }
    if (!due) return std::nullopt;
    return base::wall_from(*due);
  });
}

}  // namespace millrace::storage
