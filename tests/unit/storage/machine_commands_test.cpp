#include "storage/machines/ssh_sessions.h"
#include "tests/unit/storage/machine_store.h"

// Commands of owners to their machines, and the operations that follow.
namespace millrace::storage::testing {
namespace {

using base::Code;
using schemas::Machine;
using schemas::MachineAct;
using schemas::MachinePhase;

TEST(MachineCommands, AMachineSleepsAndWakesByActs) {
  MachineStore s;
  const base::Uuid id = s.awake();
  EXPECT_EQ(s.submit_command(id, MachineCommand::kSleep)->body, "sleeping/3");
  ClaimedJob act = s.claim_act();
  EXPECT_EQ(s.act_of(act), MachineAct::kSleep);
  s.finish(act.lease);
  EXPECT_EQ(s.look(id).phase, MachinePhase::kSleeping);
  EXPECT_EQ(s.submit_command(id, MachineCommand::kRun)->body, "running/1");
  act = s.claim_act();
  EXPECT_EQ(s.act_of(act), MachineAct::kWake);
  s.finish(act.lease);
  EXPECT_EQ(s.look(id).phase, MachinePhase::kRunning);
  EXPECT_EQ(s.audited(schemas::machine_id(id)),
            (std::vector<std::string>{"machine.create by key-1", "machine.sleep by key-1",
                                      "machine.wake by key-1"}));
}

TEST(MachineCommands, WhatIsSoAlreadyStaysAsItIs) {
  MachineStore s;
  const base::Uuid id = s.awake();
  const auto before = s.look(id).revision;
  EXPECT_EQ(s.submit_command(id, MachineCommand::kRun)->body, "running/2");
  EXPECT_EQ(s.look(id).revision, before);
  EXPECT_TRUE(s.claim_acts().empty());
  EXPECT_EQ(s.audited(schemas::machine_id(id)).size(), 1u);
}

TEST(MachineCommands, OneActIsUnderWayAndItsEndBeginsTheNext) {
  MachineStore s;
  const base::Uuid id = s.awake();
  s.submit_command(id, MachineCommand::kSleep).value();
  s.submit_command(id, MachineCommand::kRun).value();
  s.submit_command(id, MachineCommand::kSleep).value();
  s.submit_command(id, MachineCommand::kRun).value();
  const ClaimedJob sleep = s.claim_act();
  EXPECT_EQ(s.act_of(sleep), MachineAct::kSleep);
  s.finish(sleep.lease);
  const ClaimedJob wake = s.claim_act();
  EXPECT_EQ(s.act_of(wake), MachineAct::kWake);
  s.finish(wake.lease);
  EXPECT_EQ(s.look(id).phase, MachinePhase::kRunning);
  EXPECT_TRUE(s.claim_acts().empty());
}

TEST(MachineCommands, AMachineInUseNeitherSleepsNorReboots) {
  MachineStore s;
  const base::Uuid id = s.awake();
  const auto queued = s.execute(id);
  EXPECT_EQ(s.submit_command(id, MachineCommand::kSleep).error().code, Code::kInvalidState);
  EXPECT_EQ(s.submit_command(id, MachineCommand::kReboot).error().code, Code::kInvalidState);
  const Lease running = s.claim_executions().at(0).lease;
  EXPECT_EQ(running.job, queued);
  EXPECT_EQ(s.machines().running_on(id).value(), 1);
  EXPECT_EQ(s.submit_command(id, MachineCommand::kSleep).error().code, Code::kInvalidState);
  EXPECT_EQ(s.submit_command(id, MachineCommand::kReboot).error().code, Code::kInvalidState);
  s.finish(running);
  EXPECT_EQ(s.machines().running_on(id).value(), 0);
  EXPECT_EQ(s.submit_command(id, MachineCommand::kReboot)->body, "running/1");
  EXPECT_EQ(s.act_of(s.claim_act()), MachineAct::kReboot);
}

TEST(MachineCommands, AForcedRebootCancelsFirst) {
  MachineStore s;
  const base::Uuid id = s.awake();
  s.execute(id);
  const Lease running = s.claim_executions().at(0).lease;
  std::vector<schemas::JobId> queued;
  for (int i = 0; i < 300; ++i) queued.push_back(s.execute(id));
  EXPECT_EQ(s.submit_command(id, MachineCommand::kForcedReboot)->body, "running/1");
  EXPECT_TRUE(s.view(running.job).cancel_requested);
  EXPECT_TRUE(
      support::wait_until([&] { return s.commits().all().cancel_requests == std::vector{running.job}; }));
  for (const auto& job : queued) EXPECT_EQ(s.status(job), JobStatus::kCancelled);
  EXPECT_EQ(s.act_of(s.claim_act()), MachineAct::kReboot);
}

TEST(MachineCommands, ARebootOfAMachineThatSleepsWakesIt) {
  MachineStore s;
  const base::Uuid id = s.asleep();
  EXPECT_EQ(s.submit_command(id, MachineCommand::kReboot)->body, "running/1");
  EXPECT_EQ(s.act_of(s.claim_act()), MachineAct::kWake);
}

TEST(MachineCommands, AMachineIsDestroyedAfterItsExecutionsWereCancelled) {
  MachineStore s;
  const base::Uuid id = s.awake();
  s.execute(id);
  const Lease running = s.claim_executions().at(0).lease;
  const auto queued = s.execute(id);
  EXPECT_EQ(s.submit_command(id, MachineCommand::kDestroy)->body, "destroyed/5");
  EXPECT_TRUE(s.view(running.job).cancel_requested);
  EXPECT_TRUE(
      support::wait_until([&] { return s.commits().all().cancel_requests == std::vector{running.job}; }));
  EXPECT_EQ(s.status(queued), JobStatus::kCancelled);
  EXPECT_EQ(s.try_submit(s.execution(id)).error().code, Code::kInvalidState);
  for (const MachineCommand command :
       {MachineCommand::kRun, MachineCommand::kSleep, MachineCommand::kReboot}) {
    EXPECT_EQ(s.submit_command(id, command).error().code, Code::kInvalidState);
  }
  EXPECT_EQ(s.submit_command(id, MachineCommand::kDestroy)->body, "destroyed/5") << "it is already destroyed";
  s.do_act();
  EXPECT_EQ(s.submit_command(id, MachineCommand::kDestroy).error().code, Code::kNotFound);
  EXPECT_EQ(s.try_submit(s.execution(id)).error().code, Code::kNotFound);
}

TEST(MachineCommands, AFailedDestroyIsTriedAgainAfterAWhile) {
  MachineStore s;
  const base::Uuid id = s.awake();
  s.submit_command(id, MachineCommand::kDestroy).value();
  s.fail_act({Code::kHostAgentFailed, "the disk is busy"});
  EXPECT_EQ(s.look(id).phase, MachinePhase::kDestroying);
  EXPECT_EQ(s.look(id).last_error, "the disk is busy");
  EXPECT_EQ(s.begin_acts(), 0);
  EXPECT_EQ(s.machine_maintenance().next_due().value(), s.clock.wall() + 60s);
  s.clock.advance(60s);
  EXPECT_EQ(s.begin_acts(), 1);
  s.do_act();
  EXPECT_EQ(s.machines().any(id).error().code, Code::kNotFound);
}

TEST(MachineCommands, RetriesOfAFailingDestroyBackOff) {
  MachineStore s;
  const base::Uuid id = s.awake();
  s.submit_command(id, MachineCommand::kDestroy).value();
  for (const auto pause : {60s, 60s, 120s, 240s, 480s, 960s, 1920s, 3600s, 3600s}) {
    s.fail_act({Code::kHostAgentFailed, "the disk is busy"});
    EXPECT_EQ(s.machine_maintenance().next_due().value(), s.clock.wall() + pause);
    s.clock.advance(pause - 1s);
    EXPECT_EQ(s.begin_acts(), 0) << pause.count();
    s.clock.advance(1s);
    EXPECT_EQ(s.begin_acts(), 1) << pause.count();
  }
  s.fail_act({Code::kHostAgentFailed, "the disk is busy"});
  s.submit_command(id, MachineCommand::kDestroy).value();
  EXPECT_EQ(s.act_of(s.claim_act()), MachineAct::kDestroy) << "a repeated command is tried immediately";
}

TEST(MachineCommands, OnlyItsTenantMaySendCommands) {
  MachineStore s;
  const base::Uuid id = s.awake();
  IdempotentCall others = s.call();
  others.tenant = "other";
  EXPECT_EQ(s.submit_command(id, MachineCommand::kDestroy, others).error().code, Code::kNotFound);
  auto execution = s.execution(id);
  execution.tenant = "other";
  EXPECT_EQ(s.try_submit(execution).error().code, Code::kNotFound);
}

TEST(MachineCommands, AFailedMachineIsTriedAgainOnRequest) {
  MachineStore s;
  const base::Uuid id = s.asleep();
  s.submit_command(id, MachineCommand::kRun).value();
  s.fail_act({Code::kMachineWakeFailed, "no answer"});
  EXPECT_EQ(s.look(id).phase, MachinePhase::kFailed);
  EXPECT_EQ(s.begin_acts(), 0) << "no operation starts without a command";
  EXPECT_EQ(s.submit_command(id, MachineCommand::kRun)->body, "running/1");
  s.do_act();
  EXPECT_EQ(s.look(id).phase, MachinePhase::kRunning);
  EXPECT_EQ(s.look(id).last_error, "");
}

TEST(MachineCommands, AWakeRequestDuringAFailingSleepWakesTheMachine) {
  MachineStore s;
  const base::Uuid id = s.awake();
  s.submit_command(id, MachineCommand::kSleep).value();
  const ClaimedJob sleep = s.claim_act();
  const auto job = s.execute(id);
  s.fail(sleep.lease);
  EXPECT_EQ(s.status(job), JobStatus::kQueued);
  EXPECT_EQ(s.act_of(s.claim_act()), MachineAct::kWake);
}

TEST(MachineCommands, AnSshEndpointGoesWithWhatRunsOnTheMachine) {
  MachineStore s;
  const base::Uuid id = s.awake();
  s.beat({});
  Machine m = s.look(id);
  EXPECT_FALSE(s.machines().has_live_endpoint(m).value());
  s.submit_command(id, MachineCommand::kReboot).value();
  schemas::ActResult opened;
  opened.ssh = schemas::SshEndpoint{"127.0.0.1", 2201, s.incarnation};
  s.do_act(opened);
  m = s.look(id);
  ASSERT_TRUE(m.ssh);
  EXPECT_EQ(m.ssh->port, 2201);
  EXPECT_TRUE(s.machines().has_live_endpoint(m).value());
  s.release_worker();
  EXPECT_FALSE(s.machines().has_live_endpoint(m).value());
  s.submit_command(id, MachineCommand::kSleep).value();
  s.do_act();
  EXPECT_FALSE(s.look(id).ssh);
}

// A waiting SSH session.
base::Uuid wait_for_ssh(MachineStore& s, const base::Uuid& machine) {
  SshSessions sessions(s.store());
  const auto id = base::Uuid::make(s.clock.wall());
  const auto issue = [](const schemas::SshSession&, const Machine&) { return schemas::SshConnection(); };
  const auto reply = [](const schemas::SshSession& session) { return std::string(name(session.status)); };
  const auto made = await<CallReply>([&](auto done) {
    sessions.create({id, machine, "ssh-ed25519 AAAA", 15min}, s.call(), issue, reply, done);
  });
  EXPECT_EQ(made->body, "wake_in_progress");
  return id;
}
schemas::SshStatus ssh_status(MachineStore& s, const base::Uuid& machine, const base::Uuid& session) {
  return SshSessions(s.store()).session(kTenant, machine, session)->status;
}

TEST(MachineCommands, ASessionThatWaitsHasTheMachineWokenAndItsSshdOpened) {
  MachineStore s;
  const base::Uuid id = s.asleep();
  wait_for_ssh(s, id);
  wait_for_ssh(s, id);
  s.beat({});
  const ClaimedJob wake = s.claim_act();
  EXPECT_EQ(s.act_of(wake), MachineAct::kWake);
  s.finish(wake.lease);
  const ClaimedJob open = s.claim_act();
  EXPECT_EQ(s.act_of(open), MachineAct::kOpenSsh);
  EXPECT_EQ(s.look(id).phase, MachinePhase::kRunning) << "commands can still run";
  EXPECT_FALSE(s.view(s.execute(id)).waking);
  schemas::ActResult opened;
  opened.ssh = schemas::SshEndpoint{"127.0.0.1", 2201, s.incarnation};
  s.finish(open.lease, schemas::to_json(opened));
  EXPECT_TRUE(s.machines().has_live_endpoint(s.look(id)).value());
  EXPECT_TRUE(s.claim_acts().empty());
}

TEST(MachineCommands, SessionsFailWithTheirMachineOrWithItsSshd) {
  MachineStore s;
  const base::Uuid id = s.asleep();
  const base::Uuid unwoken = wait_for_ssh(s, id);
  s.fail_act({Code::kMachineWakeFailed, "no"});
  EXPECT_EQ(ssh_status(s, id, unwoken), schemas::SshStatus::kFailed);
  const base::Uuid unopened = wait_for_ssh(s, id);
  s.do_act();
  s.fail_act({Code::kHostAgentFailed, "no sshd here"});
  EXPECT_EQ(ssh_status(s, id, unopened), schemas::SshStatus::kFailed);
  EXPECT_EQ(s.look(id).phase, MachinePhase::kRunning);
  EXPECT_EQ(s.look(id).last_error, "no sshd here");
  EXPECT_TRUE(s.claim_acts().empty());
}

TEST(MachineCommands, ASessionDuringSshdStartAndPendingSleepDoesNotWaitForever) {
  MachineStore s;
  const base::Uuid id = s.awake();
  wait_for_ssh(s, id);
  EXPECT_EQ(s.submit_command(id, MachineCommand::kReboot).error().code, Code::kInvalidState)
      << "its sshd is being started";
  s.submit_command(id, MachineCommand::kSleep).value();
  const auto job = s.execute(id);
  EXPECT_TRUE(s.view(job).waking);
  s.fail_act({Code::kHostAgentFailed, "no"});
  EXPECT_FALSE(s.view(job).waking);
}

}  // namespace
}  // namespace millrace::storage::testing
