#include "jobs/maintenance.h"

#include <gtest/gtest.h>

#include "jobs/policy.h"
#include "storage/jobs/job_outcomes.h"
#include "tests/unit/jobs/core.h"

namespace millrace::jobs {
namespace {

using schemas::JobStatus;
using std::chrono::milliseconds;

TEST(Maintenance, SleepsLongWhileNoJobIsOpen) {
  Core core;
  EXPECT_EQ(core.tick(), Maintenance::Options{}.idle_period);
  core.submit();
  EXPECT_EQ(core.tick(), Maintenance::Options{}.busy_period);
}

TEST(Maintenance, ReleasesARetryWhenItIsDue) {
  base::ManualClock clock;
  Core core(&clock);
  const auto job = core.submit();
  support::Answer<storage::ReportResult> retried;
  storage::RetryPlan plan;
  plan.delay = milliseconds(300);
  storage::JobOutcomes(*core.store).retry(core.claim().at(0).lease, plan, retried.take());
  ASSERT_TRUE(retried.wait());
  EXPECT_EQ(core.tick(), milliseconds(300));
  EXPECT_TRUE(core.claim().empty());
  clock.advance(milliseconds(300));
  core.tick();
  EXPECT_EQ(core.claim().size(), 1U);
  EXPECT_EQ(core.view(job).attempt, 2);
}

TEST(Maintenance, ALeaseThatEndedIsALossAndTheJobRunsAgain) {
  base::ManualClock clock;
  Core core(&clock);
  core.submit();
  core.claim();
  for (int i = 0; i < 5; ++i) {  // in steps: after a long gap between commits, maintenance would wait
    clock.advance(milliseconds(5'000));
    core.tick();
  }
  const auto again = core.claim();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].losses, 1);
  EXPECT_EQ(again[0].crashes, 0);
}

TEST(Maintenance, AJobPastItsDeadlineExpires) {
  base::ManualClock clock;
  Core core(&clock);
  const auto job = core.submit();
  clock.advance(policy(schemas::Kind::kOcr).deadline);
  core.tick();
  EXPECT_EQ(core.view(job).status, JobStatus::kExpired);
}

// A machine of tenant "t". The test runs its operations.
class MaintenanceOfMachines : public ::testing::Test {
 protected:
  MaintenanceOfMachines() {
    machine.id = base::Uuid::make(clock.wall());
    machine.tenant = "t";
    machine.autosleep_seconds = 60;
    const storage::IdempotentCall call{
        .tenant = "t", .actor = "a", .key = {}, .act = core.submitter->new_id(schemas::Kind::kMachine)};
    support::Answer<storage::CallReply> made;
    machines.create(
        machine, call, [](const schemas::Machine&) { return std::string(); }, made.take());
    EXPECT_TRUE(made.wait());
    do_act();
  }
  void do_act() {
    support::Answer<std::vector<storage::ClaimedJob>> acts;
    storage::JobClaims(*core.store)
        .claim({.kind = schemas::Kind::kMachine, .worker = "w", .count = 9}, acts.take());
    const auto claimed = acts.wait().value();
    ASSERT_EQ(claimed.size(), 1U);
    support::Answer<storage::ReportResult> done;
    storage::JobOutcomes(*core.store).finish(claimed[0].lease, {"{}", nullptr}, done.take());
    EXPECT_EQ(done.wait().value(), storage::ReportResult::kApplied);
  }
  schemas::JobId execute() {
    storage::Submission order;
    order.id = core.submitter->new_id(schemas::Kind::kExec);
    order.tenant = "t";
    order.spec = "{}";
    order.machine = machine.id;
    support::Answer<storage::Submitted> made;
    core.submitter->submit(std::move(order), made.take());
    return made.wait().value().job;
  }
  schemas::MachinePhase phase() { return machines.any(machine.id)->phase; }

  base::ManualClock clock;
  Core core{&clock};
  storage::Machines machines{*core.store};
  schemas::Machine machine;
};

TEST_F(MaintenanceOfMachines, AMachineSleepsAfterItsAutosleepTime) {
  clock.advance(milliseconds(45'000));
  EXPECT_EQ(core.tick(), milliseconds(15'000)) << "the timer waits until the machine's sleep time";
  clock.advance(milliseconds(15'000));
  core.tick();
  EXPECT_EQ(phase(), schemas::MachinePhase::kStopping);
  do_act();
  EXPECT_EQ(phase(), schemas::MachinePhase::kSleeping);
}

TEST_F(MaintenanceOfMachines, AThousandJobsThatWaitedForOneAreReleasedInOneRound) {
  clock.advance(milliseconds(60'000));
  core.tick();
  do_act();
  std::vector<schemas::JobId> jobs;
  for (int i = 0; i < 1000; ++i) jobs.push_back(execute());
  EXPECT_TRUE(core.view(jobs.back()).waking);
  do_act();
  core.tick();
  for (const auto& job : jobs) EXPECT_FALSE(core.view(job).waking);
}

TEST(Maintenance, AStepThatThrowsEndsItsRoundAndTheNextOneRuns) {
  base::ManualClock clock;
  KeptDispatch dispatch;
  Core core(&clock, &dispatch);
  const auto job = core.submit();
  clock.advance(policy(schemas::Kind::kOcr).deadline);
  dispatch.throws = true;
  EXPECT_EQ(core.tick(), milliseconds(1'000));
  dispatch.throws = false;
  core.tick();
  EXPECT_EQ(core.view(job).status, JobStatus::kExpired);
}

TEST(Maintenance, ATokenThatWasLostIsPublishedAgain) {
  base::ManualClock clock;
  KeptDispatch dispatch;
  Core core(&clock, &dispatch);
  core.submit();
  ASSERT_TRUE(support::wait_until([&] { return dispatch.tokens().size() == 1; }));
  for (int i = 0; i < 5; ++i) {  // a worker with a free slot receives no token
    clock.advance(milliseconds(5'000));
    support::Answer<storage::HeartbeatReply> beat;
    storage::JobClaims(*core.store)
        .heartbeat({.worker = "w",
                    .incarnation = {},
                    .host = "h",
                    .version = "v",
                    .slots = {{schemas::Kind::kOcr, 1, 0}}},
                   {}, milliseconds(20'000), beat.take());
    ASSERT_TRUE(beat.wait());
    core.tick();
  }
  EXPECT_TRUE(support::wait_until([&] { return dispatch.tokens().size() >= 2; }));
  EXPECT_EQ(dispatch.tokens().back().epoch, 2);
}

}  // namespace
}  // namespace millrace::jobs
