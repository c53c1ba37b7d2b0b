#pragma once
#include <string>
#include <vector>

#include "storage/admin/audit.h"
#include "storage/db/db.h"
#include "storage/machines/ssh_sessions.h"
#include "tests/unit/storage/job_store.h"
#include "tests/unit/storage/opened_store.h"

// SSH sessions and their machines in the test's own store.
namespace millrace::storage::testing {

inline constexpr std::chrono::milliseconds kLifetime = 15min;
inline constexpr const char* kKey = "ssh-ed25519 AAAA me";

// The inputs of the certificate as text, enough to see what it was signed from.
inline schemas::SshConnection issue(const schemas::SshSession& session, const schemas::Machine& machine) {
  const auto from = base::millis(*session.ready_at), until = base::millis(session.expires_at);
  return {.endpoint = machine.ssh ? machine.ssh->host : "far.example",
          .port = machine.ssh ? machine.ssh->port : 22,
          .username = "millrace",
          .host_pattern = "pattern",
          .host_ca = "ca",
          .certificate = "serial " + std::to_string(session.serial) + " from " + std::to_string(from) +
                         " until " + std::to_string(until)};
}

inline std::string reply(const schemas::SshSession& session) {
  return std::string(schemas::name(session.status));
}

class SshSessionRows : public ::testing::Test {
 protected:
  void SetUp() override { s_.beat({}); }  // the worker that listens

  // A machine's row in the given state.
  base::Uuid machine(schemas::MachineDriver driver, schemas::MachineState desired,
                     schemas::MachinePhase phase) {
    const base::Uuid id = base::Uuid::make(s_.clock.wall());
    const std::int64_t number = ++machines_;
    EXPECT_TRUE(write(s_.store(), [=](Tx& tx) {
      tx.db
          .prepare(
              "INSERT INTO machines (id, tenant, name, driver, vcpu, memory_mib, storage_gib, "
              "autosleep_seconds, desired, phase, number, created_at, changed_at) "
              "VALUES (?1, ?2, 'm', ?3, 1.0, 64, 1, 0, ?4, ?5, ?6, ?7, ?7)")
          .bind(id, kTenant, driver, desired, phase, number, base::millis(tx.now))
          .run();
      return base::Status{};
    }));
    return id;
  }
  base::Uuid awake(schemas::MachineDriver driver) {
    return machine(driver, schemas::MachineState::kRunning, schemas::MachinePhase::kRunning);
  }
  base::Uuid asleep() {
    return machine(schemas::MachineDriver::kSandbox, schemas::MachineState::kSleeping,
                   schemas::MachinePhase::kSleeping);
  }
  void listen(const base::Uuid& id, const base::Uuid& worker) {
    EXPECT_TRUE(write(s_.store(), [=](Tx& tx) {
      tx.db
          .prepare(
              "UPDATE machines SET ssh_host = '127.0.0.1', ssh_port = 2201, ssh_owner = ?2 WHERE id = ?1")
          .bind(id, worker)
          .run();
      return base::Status{};
    }));
  }
  void set_state(const base::Uuid& id, schemas::MachineState desired, schemas::MachinePhase phase) {
    EXPECT_TRUE(write(s_.store(), [=](Tx& tx) {
      tx.db.prepare("UPDATE machines SET desired = ?2, phase = ?3, act = NULL WHERE id = ?1")
          .bind(id, desired, phase)
          .run();
      return base::Status{};
    }));
  }
  bool has_act(const base::Uuid& id) {
    bool found = false;
    EXPECT_TRUE(write(s_.store(), [&found, id](Tx& tx) {
      auto s = tx.db.prepare("SELECT act IS NOT NULL FROM machines WHERE id = ?1");
      found = s.bind(id).step() && s.integer(0) != 0;
      return base::Status{};
    }));
    return found;
  }

  IdempotentCall call(const std::string& tenant = kTenant) {
    return {.tenant = tenant, .actor = "aaaaaaaa", .key = {}, .act = s_.new_id(schemas::Kind::kMachine)};
  }
  base::Result<CallReply> create(const base::Uuid& machine, const base::Uuid& id, IdempotentCall by) {
    return await<CallReply>([&](auto done) {
      sessions_.create({id, machine, kKey, kLifetime}, std::move(by), issue, reply, done);
    });
  }
  schemas::SshSession created(const base::Uuid& machine) {
    const base::Uuid id = base::Uuid::make(s_.clock.wall());
    EXPECT_TRUE(create(machine, id, call()));
    return sessions_.session(kTenant, machine, id).value();
  }
  schemas::SshSession refreshed(const schemas::SshSession& session) {
    return await<schemas::SshSession>([&](auto done) {
             sessions_.refresh(kTenant, session.machine, session.id, "bbbbbbbb", issue, done);
           })
        .value();
  }
  base::Result<CallReply> close(const schemas::SshSession& session, IdempotentCall by) {
    return await<CallReply>(
        [&](auto done) { sessions_.close(session.machine, session.id, std::move(by), reply, done); });
  }
  base::Result<CallReply> close(const schemas::SshSession& session) { return close(session, call()); }
  schemas::SshSession seen(const schemas::SshSession& session) {
    return sessions_.session(kTenant, session.machine, session.id).value();
  }
  std::vector<AuditRow> audited() { return Audit(s_.store()).rows(0, 99).value(); }
  std::vector<std::string> acts() {
    std::vector<std::string> names;
    for (const AuditRow& row : audited()) {
      if (row.entry.act.starts_with("ssh.")) names.push_back(row.entry.act);
    }
    return names;
  }

  JobStore s_;
  SshSessions sessions_{s_.store()};
  int machines_ = 0;
};

}  // namespace millrace::storage::testing
