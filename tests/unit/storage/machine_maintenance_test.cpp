#include "storage/db/db.h"
#include "tests/unit/storage/machine_store.h"

namespace millrace::storage::testing {
namespace {

using schemas::MachineAct;
using schemas::MachinePhase;

TEST(MachineMaintenance, AMachineFallsAsleepWhenItWasUnusedForItsTime) {
  MachineStore s;
  const base::Uuid id = s.awake(60);
  EXPECT_EQ(s.machine_maintenance().next_due().value(), s.clock.wall() + 60s);
  s.clock.advance(59s);
  EXPECT_EQ(s.put_to_sleep(), 0);
  s.clock.advance(1s);
  EXPECT_EQ(s.put_to_sleep(), 1);
  EXPECT_EQ(s.look(id).phase, MachinePhase::kStopping);
  EXPECT_EQ(s.act_of(s.claim_act()), MachineAct::kSleep);
  EXPECT_EQ(s.put_to_sleep(), 0);
  EXPECT_EQ(s.machine_maintenance().next_due().value(), std::nullopt);
  EXPECT_EQ(s.audited(schemas::machine_id(id)).back(), "machine.sleep by gateway");
}

TEST(MachineMaintenance, OneWithoutAutosleepStaysAwake) {
  MachineStore s;
  s.awake();
  EXPECT_EQ(s.machine_maintenance().next_due().value(), std::nullopt);
  s.clock.advance(1000h);
  EXPECT_EQ(s.put_to_sleep(), 0);
}

TEST(MachineMaintenance, WhatIsQueuedOrRunsKeepsItAwakeAndItsEndBeginsTheTimeAgain) {
  MachineStore s;
  const base::Uuid id = s.awake(60);
  s.execute(id);
  s.clock.advance(2min);
  s.put_to_sleep();
  EXPECT_EQ(s.look(id).phase, MachinePhase::kRunning);
  const Lease lease = s.claim_executions().at(0).lease;
  s.clock.advance(2min);
  s.put_to_sleep();
  EXPECT_EQ(s.look(id).phase, MachinePhase::kRunning);
  s.clock.advance(30s);
  s.finish(lease);
  EXPECT_EQ(s.machine_maintenance().next_due().value(), s.clock.wall() + 60s);
  s.clock.advance(60s);
  s.put_to_sleep();
  EXPECT_EQ(s.look(id).phase, MachinePhase::kStopping);
}

TEST(MachineMaintenance, EachExecutionAndEachTouchBeginsItsTimeAgain) {
  MachineStore s;
  const base::Uuid id = s.awake(60);
  s.clock.advance(50s);
  s.finish((s.execute(id), s.claim_executions().at(0).lease));
  EXPECT_EQ(s.machine_maintenance().next_due().value(), s.clock.wall() + 60s);
  s.clock.advance(50s);
  EXPECT_TRUE(await<bool>([&](auto done) { s.machines().touch(id, done); }).value());
  EXPECT_EQ(s.machine_maintenance().next_due().value(), s.clock.wall() + 60s);
}

TEST(MachineMaintenance, AJobThatComesWhileItFallsAsleepWaitsAndWakesIt) {
  MachineStore s;
  const base::Uuid id = s.awake(60);
  s.clock.advance(60s);
  s.put_to_sleep();
  const auto job = s.execute(id);
  EXPECT_TRUE(s.view(job).waking);
  const ClaimedJob sleep = s.claim_act();
  EXPECT_EQ(s.act_of(sleep), MachineAct::kSleep);
  s.finish(sleep.lease);
  EXPECT_TRUE(s.view(job).waking);
  s.do_act();
  EXPECT_EQ(s.claim_executions().size(), 1u);
}

TEST(MachineMaintenance, AMachineOfAnEarlierVersionIsWokenByItsFirstAct) {
  MachineStore s;
  const base::Uuid id = s.awake();
  ASSERT_TRUE(write(s.store(), [id](Tx& tx) {  // as after 0004_machine_life.sql
    tx.db.prepare("UPDATE machines SET phase = 0, act = NULL WHERE id = ?1").bind(id).run();
    return base::Status{};
  }));
  EXPECT_EQ(s.machine_maintenance().next_due().value(), base::WallTime());
  EXPECT_EQ(s.begin_acts(), 1);
  EXPECT_EQ(s.begin_acts(), 0);
  s.do_act();
  EXPECT_EQ(s.look(id).phase, MachinePhase::kRunning);
}

TEST(MachineMaintenance, AUseIsKnownForQuarterOfAMinuteHoweverShortTheAutosleep) {
  MachineStore s;
  const base::Uuid id = s.awake(5);
  EXPECT_EQ(s.machine_maintenance().next_due().value(), s.clock.wall() + 15s);
  s.clock.advance(14s);
  EXPECT_EQ(s.put_to_sleep(), 0);
  s.clock.advance(1s);
  EXPECT_EQ(s.put_to_sleep(), 1);
  EXPECT_EQ(s.look(id).phase, MachinePhase::kStopping);
}

TEST(MachineMaintenance, AWaitingSshSessionKeepsTheMachineAwake) {
  MachineStore s;
  const base::Uuid id = s.awake(60);
  s.add_session(id, schemas::SshStatus::kWaking, 70s);
  s.clock.advance(60s);
  s.put_to_sleep();
  EXPECT_EQ(s.look(id).phase, MachinePhase::kRunning);
  EXPECT_EQ(s.machine_maintenance().next_due().value(), s.clock.wall() + 60s);
  s.clock.advance(60s);
  s.put_to_sleep();
  EXPECT_EQ(s.look(id).phase, MachinePhase::kStopping);
}

// The listening worker according to its rows and the machine's row.
void listen(MachineStore& s, const base::Uuid& machine, const base::Uuid& owner) {
  ASSERT_TRUE(write(s.store(), [&](Tx& tx) {
    tx.db.prepare("UPDATE machines SET ssh_host = '127.0.0.1', ssh_port = 2201, ssh_owner = ?2 WHERE id = ?1")
        .bind(machine, owner)
        .run();
    return base::Status{};
  }));
}

TEST(MachineMaintenance, TheSshdOfReadySessionsIsOpenedAgainByTheNextWorker) {
  MachineStore s;
  const base::Uuid id = s.awake();
  s.add_session(id, schemas::SshStatus::kReady, 10min);
  const base::Uuid dead = s.new_act().uuid;
  listen(s, id, dead);
  EXPECT_EQ(s.begin_acts(), 0) << "no live worker can run it";
  s.add_worker();
  EXPECT_EQ(s.machine_maintenance().next_due().value(), base::WallTime());
  EXPECT_EQ(s.begin_acts(), 1);
  EXPECT_EQ(s.begin_acts(), 0);
  const ClaimedJob act = s.claim_act();
  EXPECT_EQ(s.act_of(act), MachineAct::kOpenSsh);
  EXPECT_EQ(s.look(id).ssh->port, 2201) << "a new worker reuses the port";
  s.fail(act.lease, {base::Code::kMachineNotRoutable, "the port is taken"});
  EXPECT_EQ(s.begin_acts(), 0) << "it is not retried immediately";
  EXPECT_EQ(s.machine_maintenance().next_due().value(), s.clock.wall() + 60s);
  s.clock.advance(60s);
  EXPECT_EQ(s.begin_acts(), 1);
}

TEST(MachineMaintenance, AnUnusedSshdStaysClosed) {
  MachineStore s;
  const base::Uuid unused = s.awake(), ended = s.awake(), closed = s.awake();
  s.add_worker();
  for (const base::Uuid& id : {unused, ended, closed}) listen(s, id, s.new_act().uuid);
  s.add_session(ended, schemas::SshStatus::kReady, 1s);
  s.add_session(closed, schemas::SshStatus::kClosed, 10min);
  s.clock.advance(1s);
  EXPECT_EQ(s.machine_maintenance().next_due().value(), std::nullopt);
  EXPECT_EQ(s.begin_acts(), 0);
}

TEST(MachineMaintenance, SessionsGoAWeekAfterTheirCertificatesEnd) {
  MachineStore s;
  const base::Uuid id = s.awake();
  s.add_session(id, schemas::SshStatus::kReady, 0s);
  const auto drop = [&] {
    return s.step([&](auto done) { s.machine_maintenance().drop_sessions(9, done); });
  };
  s.clock.advance(7 * 24h - 1s);
  EXPECT_EQ(drop(), 0);
  s.clock.advance(1s);
  EXPECT_EQ(drop(), 1);
}

}  // namespace
}  // namespace millrace::storage::testing
