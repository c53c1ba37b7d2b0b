#include <gtest/gtest.h>

#include "tests/unit/workers/exec_fixture.h"

// Cancellation of a running command.
namespace millrace::workers {
namespace {

using base::Code;
using machines::CancelToken;
using machines::CommandRequest;
using schemas::JobStatus;
using std::chrono::milliseconds;
using How = machines::CommandResult::How;

TEST(ExecRunner, ACancelStopsTheCommandAndKeepsItsOutput) {
  ExecFixture exec([](const CommandRequest&, const CancelToken& stop, const Say& say) {
    say(kOut, "before");
    if (!wait_for_stop(stop) || stop.killed()) return exits(1);
    say(kOut, " after");
    return ends(How::kStopped);
  });
  const auto job = exec.submit();
  ASSERT_TRUE(exec.reaches(job, JobStatus::kRunning));
  ASSERT_TRUE(support::wait_until([&] { return exec.output(job, "stdout") == "before"; }));
  ASSERT_TRUE(exec.cancel(job));
  ASSERT_TRUE(exec.reaches(job, JobStatus::kCancelled));
  EXPECT_EQ(exec.output(job, "stdout"), "before after");
  ASSERT_TRUE(exec.result(job));
  EXPECT_EQ(exec.result(job)->stdout_bytes, 12);
  EXPECT_FALSE(exec.result(job)->exit_code || exec.result(job)->signal);
}

// The heartbeat interval is longer than any test, so it cannot report a cancellation.
class WithoutHeartbeat : public ::testing::Test {
 protected:
  void SetUp() override {
    exec.fixture.relay->on_cancel_request(exec.fixture.worker->on_cancel_request());
    job = exec.submit();
    ASSERT_TRUE(support::wait_until([&] { return exec.begun == 1; }));
  }

  ExecFixture exec{[](const CommandRequest&, const CancelToken& stop, const Say&) {
                     return wait_for_stop(stop) ? ends(How::kStopped) : exits(1);
                   },
                   {.fixture = {.lease = {milliseconds(60'000), milliseconds(240'000), milliseconds(500)},
                                .with_worker = false}}};
  schemas::JobId job;
};

TEST_F(WithoutHeartbeat, ACancelStopsTheCommand) {
  ASSERT_TRUE(exec.cancel(job));
  exec.fixture.worker->on_cancel_request()(job);  // the worker may be notified twice
  EXPECT_TRUE(exec.reaches(job, JobStatus::kCancelled));
}

TEST_F(WithoutHeartbeat, AForcedRebootAndTheEndOfItsMachineStopTheCommand) {
  for (const auto wish : {storage::MachineCommand::kForcedReboot, storage::MachineCommand::kDestroy}) {
    storage::IdempotentCall call;
    call.tenant = "default";
    call.act = {schemas::Kind::kMachine, base::Uuid::make(exec.fixture.clock->wall())};
    Answer<storage::CallReply> wanted;
    storage::Machines(*exec.fixture.store)
        .submit_command(
            exec.machine.id, wish, call, [](const schemas::Machine&) { return std::string("{}"); },
            wanted.take());
    ASSERT_TRUE(wanted.wait());
    EXPECT_TRUE(exec.reaches(job, JobStatus::kCancelled));
    if (wish == storage::MachineCommand::kDestroy) return;
    job = exec.submit();
    ASSERT_TRUE(support::wait_until([&] { return exec.begun == 2; }));
  }
}

TEST(ExecRunner, ACancelOfOneJobLeavesOthersAlone) {
  Gate gate;
  ExecFixture exec(
      [&](const CommandRequest&, const CancelToken&, const Say&) { return exits(gate.pass() ? 0 : 1); });
  const auto job = exec.submit();
  ASSERT_TRUE(support::wait_until([&] { return exec.begun == 1; }));
  exec.fixture.worker->on_cancel_request()(
      {schemas::Kind::kExec, base::Uuid::make(exec.fixture.clock->wall())});
  gate.open();
  EXPECT_TRUE(exec.reaches(job, JobStatus::kSucceeded));
}

TEST(ExecRunner, NothingBeginsOnceTheLeaseIsNearlyOver) {
  base::ManualClock clock;
  const jobs::LeasePolicy lease{milliseconds(60'000), milliseconds(240'000), milliseconds(500)};
  std::atomic<bool> before{false}, after{true};
  ExecFixture exec(
      RunCommand([&](const CommandRequest&, const CancelToken&, const machines::CommandHooks& hooks) {
        before = hooks.start_allowed();
        clock.advance(lease.usable());
        after = hooks.start_allowed();
        return ends(How::kNotStarted);
      }),
      {.fixture = {.lease = lease, .clock = &clock, .with_worker = false}});
  const auto job = exec.submit();
  ASSERT_TRUE(exec.reaches(job, JobStatus::kFailed));
  EXPECT_TRUE(before);
  EXPECT_FALSE(after);
  EXPECT_EQ(exec.fixture.view(job).error->code, Code::kWorkerLost);
}

TEST(ExecRunner, ALostLeaseKillsTheCommandAtOnce) {
  std::atomic<bool> killed{false};
  ExecFixture exec([&](const CommandRequest&, const CancelToken& stop, const Say& say) {
    if (!wait_for_stop(stop)) return exits(1);
    killed = stop.killed();
    say(kOut, "too late");
    return ends(How::kStopped);
  });
  const auto job = exec.submit();
  ASSERT_TRUE(support::wait_until([&] { return exec.begun == 1; }));
  EXPECT_EQ(exec.release_leases(), 1);
  EXPECT_TRUE(support::wait_until([&] { return killed.load(); }));
  ASSERT_TRUE(exec.reaches(job, JobStatus::kFailed));
  EXPECT_EQ(exec.fixture.view(job).error->code, Code::kWorkerLost);
  EXPECT_TRUE(exec.fixture.worker->drain(milliseconds(5'000)));
  EXPECT_EQ(exec.output(job, "stdout"), "");
  EXPECT_EQ(exec.begun, 1);
}

TEST(ExecRunner, AJobThatMayRunAgainDoesSoAfterALoss) {
  ExecFixture exec([&](const CommandRequest&, const CancelToken& stop, const Say& say) {
    if (exec.begun == 1) {
      wait_for_stop(stop);
      return ends(How::kStopped);
    }
    say(kOut, "again");
    return exits(0);
  });
  const auto job = exec.submit({.spec = exec.spec(), .rerun_on_loss = true});
  ASSERT_TRUE(support::wait_until([&] { return exec.begun == 1; }));
  EXPECT_EQ(exec.release_leases(), 1);
  ASSERT_TRUE(exec.reaches(job, JobStatus::kSucceeded));
  EXPECT_EQ(exec.output(job, "stdout"), "again");
}

TEST(ExecRunner, ASecondStopKillsACommandThatIgnoresTheFirst) {
  Gate told;
  ExecFixture exec([&](const CommandRequest&, const CancelToken& stop, const Say&) {
    wait_for_stop(stop);
    told.open();
    support::wait_until([&] { return stop.killed(); });
    return ends(How::kStopped);
  });
  const auto job = exec.submit();
  ASSERT_TRUE(support::wait_until([&] { return exec.begun == 1; }));
  ASSERT_TRUE(exec.cancel(job));
  ASSERT_TRUE(told.pass());
  exec.release_leases();
  EXPECT_TRUE(exec.fixture.worker->drain(milliseconds(5'000)));
  EXPECT_TRUE(schemas::is_terminal(exec.fixture.view(job).status));
}

TEST(ExecRunner, ADrainLetsACommandEndInItsGrace) {
  Gate gate;
  ExecFixture exec(
      [&](const CommandRequest&, const CancelToken&, const Say&) { return exits(gate.pass() ? 0 : 1); },
      {.fixture = {.drain_grace = milliseconds(5'000), .with_worker = false}});
  const auto job = exec.submit();
  ASSERT_TRUE(support::wait_until([&] { return exec.begun == 1; }));
  ASSERT_TRUE(exec.fixture.worker->stop_claiming(milliseconds(5'000)));
  gate.open();
  EXPECT_TRUE(exec.fixture.worker->drain(milliseconds(5'000)));
  EXPECT_EQ(exec.fixture.view(job).status, JobStatus::kSucceeded);
}

TEST(ExecRunner, ADrainStopsACommandThatOutlastsItsGrace) {
  std::atomic<bool> killed{true};
  ExecFixture exec([&](const CommandRequest&, const CancelToken& stop, const Say&) {
    if (!wait_for_stop(stop)) return exits(1);
    killed = stop.killed();
    return ends(How::kStopped);
  });
  const auto job = exec.submit();
  ASSERT_TRUE(support::wait_until([&] { return exec.begun == 1; }));
  EXPECT_TRUE(exec.fixture.worker->drain(milliseconds(5'000)));
  EXPECT_FALSE(killed) << "at first it may end without a kill";
  EXPECT_EQ(exec.fixture.view(job).status, JobStatus::kFailed);
  EXPECT_EQ(exec.fixture.view(job).error->code, Code::kWorkerLost);
}

TEST(ExecRunner, AWorkerThatGoesWithoutADrainKillsItsCommands) {
  std::atomic<bool> killed{false};
  ExecFixture exec([&](const CommandRequest&, const CancelToken& stop, const Say&) {
    if (!wait_for_stop(stop)) return exits(1);
    killed = stop.killed();
    return ends(How::kStopped);
  });
  exec.submit();
  ASSERT_TRUE(support::wait_until([&] { return exec.begun == 1; }));
  exec.fixture.dispatch.stop(milliseconds(1'000));
  exec.fixture.worker.reset();
  EXPECT_TRUE(killed);
}

}  // namespace
}  // namespace millrace::workers
