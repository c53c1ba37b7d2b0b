#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schemas/machines/machine_lifecycle.h"
#include "schemas/machines/ssh_session.h"
#include "storage/admin/audit.h"
#include "storage/db/db.h"
#include "storage/machines/machines.h"
#include "storage/writer/readers.h"
#include "tests/unit/storage/job_store.h"
#include "tests/unit/storage/opened_store.h"

namespace millrace::storage::testing {

// A store with machines, and a worker that runs their operations when the test calls for it.
class MachineStore : public JobStore {
 public:
  explicit MachineStore(bool outbox = false, OpenStore open = &Store::open)
      : JobStore(outbox, open), machines_(store()), machine_maintenance_(store()) {}

  Machines& machines() { return machines_; }
  MachineMaintenance& machine_maintenance() { return machine_maintenance_; }

  schemas::JobId new_act() { return new_id(schemas::Kind::kMachine); }
  IdempotentCall call(const std::string& key = {}, const std::string& body = {}) {
    IdempotentCall c{.tenant = kTenant, .actor = "key-1", .key = {}, .act = new_act()};
    if (!key.empty()) c.key = IdempotencyKey{"POST", "/v1/machines", key, base::sha256(body)};
    return c;
  }
  // Replies are the machine's desired state and phase.
  static std::string told(const schemas::Machine& m) {
    return std::string(schemas::name(m.desired)) + "/" + std::to_string(static_cast<int>(m.phase));
  }

  schemas::Machine new_machine(const std::string& tenant = kTenant) {
    schemas::Machine m;
    m.id = base::Uuid::make(clock.wall());
    m.tenant = tenant;
    m.name = named_++ == 0 ? "builder" : "builder-" + std::to_string(named_);
    return m;
  }
  base::Result<CallReply> create(schemas::Machine m, std::optional<IdempotentCall> by = {}) {
    IdempotentCall c = by.value_or(call());
    c.tenant = m.tenant;
    return await<CallReply>([&](auto done) { machines_.create(std::move(m), c, &told, done); });
  }
  base::Result<CallReply> submit_command(const base::Uuid& id, MachineCommand command,
                                         std::optional<IdempotentCall> by = {}) {
    return await<CallReply>(
        [&](auto done) { machines_.submit_command(id, command, by.value_or(call()), &told, done); });
  }
  base::Result<CallReply> change(const base::Uuid& id, schemas::MachineChange what,
                                 std::optional<IdempotentCall> by = {}) {
    return await<CallReply>(
        [&](auto done) { machines_.change(id, std::move(what), by.value_or(call()), &told, done); });
  }
  base::Result<int> take(std::vector<schemas::Machine> file) {
    std::vector<schemas::JobId> acts(file.size());
    for (auto& act : acts) act = new_act();
    return await<int>([&](auto done) { machines_.apply_config_file(std::move(file), acts, done); });
  }

  schemas::Machine look(const base::Uuid& id) { return machines_.any(id).value(); }
  // A machine whose first operation has succeeded.
  base::Uuid machine(schemas::MachineState desired, std::int64_t autosleep_seconds = 0) {
    auto m = new_machine();
    m.desired = desired;
    m.autosleep_seconds = autosleep_seconds;
    const base::Uuid id = m.id;
    EXPECT_TRUE(create(std::move(m)));
    do_act();
    return id;
  }
  base::Uuid awake(std::int64_t autosleep_seconds = 0) {
    return machine(schemas::MachineState::kRunning, autosleep_seconds);
  }
  base::Uuid asleep() { return machine(schemas::MachineState::kSleeping); }

  void add_session(const base::Uuid& machine, schemas::SshStatus status, std::chrono::milliseconds lifetime) {
    const base::Uuid id = new_act().uuid;
    EXPECT_TRUE(write(store(), [&](Tx& tx) {
      tx.db
          .prepare(
              "INSERT INTO ssh_sessions (id, tenant, machine, status, public_key, created_at, expires_at) "
              "VALUES (?1, ?2, ?3, ?4, 'k', ?5, ?6)")
          .bind(id, kTenant, machine, status, base::millis(tx.now), base::millis(tx.now + lifetime))
          .run();
      return base::Status{};
    }));
  }

  // A worker that runs machine operations.
  void add_worker() {
    WorkerReport report{"w-1", incarnation, "host", "1", {{schemas::Kind::kMachine, 4, 0}}};
    EXPECT_TRUE(
        await<HeartbeatReply>([&](auto done) { claims().heartbeat(report, {}, kLease, done); }).has_value());
  }

  std::vector<ClaimedJob> claim_acts(int count = 9) {
    return claim({.kind = schemas::Kind::kMachine, .worker = "w-1", .count = count});
  }
  // The only open operation; the test fails if there is another number.
  ClaimedJob claim_act() {
    auto acts = claim_acts();
    EXPECT_EQ(acts.size(), 1u);
    return acts.size() == 1 ? acts.front() : ClaimedJob{};
  }
  static schemas::MachineAct act_of(const ClaimedJob& job) {
    return schemas::act_spec_from_json(job.spec).value().act;
  }
  void do_act(const schemas::ActResult& result = {}) { finish(claim_act().lease, schemas::to_json(result)); }
  void fail_act(schemas::JobError error) { fail(claim_act().lease, std::move(error)); }

  Submission execution(const base::Uuid& machine) {
    Submission s = command("");
    s.machine = machine;
    s.wake = new_act();
    return s;
  }
  schemas::JobId execute(const base::Uuid& machine) { return submit(execution(machine)); }
  std::vector<ClaimedJob> claim_executions(int count = 999) {
    return claim({.kind = schemas::Kind::kExec, .worker = "w-1", .count = count});
  }

  int settle(int limit = 256) {
    return step([&](auto done) { machine_maintenance_.resolve_waiting(limit, done); });
  }
  int put_to_sleep() {
    return step([&](auto done) { machine_maintenance_.put_to_sleep({new_act(), new_act()}, done); });
  }
  int begin_acts() {
    return step([&](auto done) { machine_maintenance_.begin_acts({new_act(), new_act()}, done); });
  }

  // The actions of the audit log, without the rest of each row.
  std::vector<std::string> audited(const std::string& target) {
    std::vector<std::string> acts;
    const auto rows = Audit(store()).rows(0, 999).value();
    for (const AuditRow& row : rows) {
      if (row.entry.target == target) acts.push_back(row.entry.act + " by " + row.entry.actor);
    }
    return acts;
  }

 private:
  Machines machines_;
  MachineMaintenance machine_maintenance_;
  int named_ = 0;
};

}  // namespace millrace::storage::testing
