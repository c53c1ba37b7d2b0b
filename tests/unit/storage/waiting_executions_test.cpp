#include "storage/db/db.h"
#include "tests/unit/storage/machine_store.h"

// Executions for a machine that is awake or asleep.
namespace millrace::storage::testing {
namespace {

using base::Code;
using schemas::JobId;
using schemas::MachineAct;
using schemas::MachinePhase;
using schemas::MachineState;

TEST(WaitingJobs, AnAwakeMachineTakesThemAtOnce) {
  MachineStore s;
  const base::Uuid id = s.awake();
  const JobId job = s.execute(id);
  EXPECT_FALSE(s.view(job).waking);
  EXPECT_EQ(s.queries().record(kTenant, job)->lane_key, schemas::machine_id(id));
  EXPECT_EQ(s.claim_executions().size(), 1u);
}

TEST(WaitingJobs, TheyAreShownAsWakeInProgressAndNotClaimed) {
  MachineStore s;
  const base::Uuid id = s.asleep();
  const JobId job = s.execute(id);
  EXPECT_TRUE(s.view(job).waking);
  EXPECT_EQ(schemas::public_status(s.view(job)), "wake_in_progress");
  EXPECT_TRUE(s.claim_executions().empty());
  EXPECT_TRUE(s.claim({.kind = schemas::Kind::kExec, .worker = "w-1"}).empty());
  EXPECT_FALSE(has_ready_jobs(s.store(), schemas::Kind::kExec).value());
  EXPECT_EQ(s.release_due(), 0);
  const auto depths = s.queries().depths().value();
  EXPECT_EQ(depths.at(1).queued, 0);
  EXPECT_FALSE(depths.at(1).oldest_queued);
  EXPECT_EQ(s.queries().list(kTenant, {.status = "wake_in_progress"}, 9, {})->items.size(), 1u);
  EXPECT_TRUE(s.queries().list(kTenant, {.status = "queued"}, 9, {})->items.empty());
  EXPECT_EQ(s.upkeep().next_due(kLease).value(), s.clock.wall() + kActDeadline)
      << "run_at must not count as a due time";
}

TEST(WaitingJobs, TwoHundredWakeTheirMachineOnce) {
  MachineStore s;
  const base::Uuid id = s.asleep();
  std::vector<JobId> jobs;
  for (int i = 0; i < 200; ++i) jobs.push_back(s.execute(id));
  EXPECT_EQ(s.look(id).phase, MachinePhase::kStarting);
  const ClaimedJob wake = s.claim_act();
  EXPECT_EQ(s.act_of(wake), MachineAct::kWake);
  s.commits().clear();
  s.finish(wake.lease);
  EXPECT_EQ(s.claim_executions().size(), 200u);
  for (const JobId& job : jobs) {
    const auto events = s.queries().events(kTenant, job, 0, 9).value();
    ASSERT_EQ(events.size(), 3u);
    EXPECT_EQ(events[0].type, "wake_in_progress");
    EXPECT_EQ(events[0].version, 1);
    EXPECT_EQ(events[1].type, "queued");
    EXPECT_EQ(events[2].type, "running");
  }
}

TEST(WaitingJobs, AThousandAreAllReleasedInSteps) {
  MachineStore s;
  const base::Uuid id = s.asleep();
  for (int i = 0; i < 1000; ++i) s.execute(id);
  EXPECT_EQ(s.machine_maintenance().next_due().value(), std::nullopt);
  s.do_act();
  EXPECT_EQ(s.machine_maintenance().next_due().value(), base::WallTime()) << "it starts immediately";
  EXPECT_EQ(s.settle(), 256);
  EXPECT_EQ(s.settle(), 256);
  EXPECT_EQ(s.settle(), 232);
  EXPECT_EQ(s.settle(), 0);
  EXPECT_EQ(s.machine_maintenance().next_due().value(), std::nullopt);
  EXPECT_EQ(s.claim_executions(2000).size(), 1000u);
}

TEST(WaitingJobs, TheyArePublishedWhenTheyMayStart) {
  for (const bool outbox : {false, true}) {
    MachineStore s(outbox);
    const base::Uuid id = s.asleep();
    s.commits().clear();
    const JobId job = s.execute(id);
    const auto is_ready = [&] {
      const auto ready = s.commits().all().ready;
      return std::any_of(ready.begin(), ready.end(), [&](const ReadyJob& r) { return r.job == job; });
    };
    EXPECT_TRUE(await<std::vector<ReadyJob>>([&](auto done) {
                  s.upkeep().select_for_publication(schemas::Kind::kExec, done);
                })->empty());
    EXPECT_FALSE(is_ready());
    s.do_act();
    EXPECT_TRUE(support::wait_until(is_ready));
  }
}

TEST(WaitingJobs, TheyFailWithTheirMachine) {
  MachineStore s;
  const base::Uuid id = s.asleep();
  std::vector<JobId> jobs;
  for (int i = 0; i < 300; ++i) jobs.push_back(s.execute(id));
  s.fail_act({Code::kMachineWakeFailed, "its probe did not answer within 120 s"});
  EXPECT_EQ(s.look(id).phase, MachinePhase::kFailed);
  EXPECT_EQ(s.look(id).last_error, "its probe did not answer within 120 s");
  EXPECT_EQ(s.settle(), 44);
  for (const JobId& job : jobs) {
    const auto view = s.view(job);
    EXPECT_EQ(view.status, JobStatus::kFailed);
    ASSERT_TRUE(view.error);
    EXPECT_EQ(view.error->code, Code::kMachineWakeFailed);
    EXPECT_EQ(s.queries().secret(job).value(), "");
  }
}

TEST(WaitingJobs, AMachineThatCannotBeReachedReportsIt) {
  MachineStore s;
  const base::Uuid id = s.asleep();
  const JobId job = s.execute(id);
  s.fail_act({Code::kMachineNotRoutable, "connection refused"});
  EXPECT_EQ(s.view(job).error->code, Code::kMachineNotRoutable);
  EXPECT_EQ(s.view(job).error->message, "the machine cannot be reached: connection refused");
}

TEST(WaitingJobs, TheMessageOfAFailedOperationIsNotRepeated) {
  for (const auto& [code, message] :
       {std::pair{Code::kMachineNotRoutable,
                  "the machine cannot be reached: its host refuses the connection"},
        std::pair{Code::kMachineWakeFailed, "the machine did not respond at tcp://box:22 within 10 ms"}}) {
    MachineStore s;
    const base::Uuid id = s.asleep();
    const JobId job = s.execute(id);
    s.fail_act({code, message});
    EXPECT_EQ(s.view(job).error, (schemas::JobError{code, message}));
  }
}

TEST(WaitingJobs, TheOtherJobsOfAnUnreachableMachineGetTheSameError) {
  MachineStore s;
  const base::Uuid id = s.asleep();
  std::vector<JobId> jobs;
  for (int i = 0; i < 300; ++i) jobs.push_back(s.execute(id));
  s.fail_act({Code::kMachineNotRoutable, "no route"});
  EXPECT_EQ(s.settle(), 44);
  const schemas::JobError told{Code::kMachineNotRoutable, "the machine cannot be reached: no route"};
  EXPECT_EQ(s.view(jobs.front()).error, told);
  EXPECT_EQ(s.view(jobs.back()).error, told);
}

TEST(WaitingJobs, TheNextOneWakesAFailedMachineAgain) {
  MachineStore s;
  const base::Uuid id = s.asleep();
  s.execute(id);
  s.fail_act({Code::kMachineWakeFailed, "no"});
  const JobId next = s.execute(id);
  EXPECT_TRUE(s.view(next).waking);
  s.do_act();
  EXPECT_EQ(s.claim_executions().size(), 1u);
}

TEST(WaitingJobs, AnActThatExpiresOrIsCancelledIsAFailedOne) {
  MachineStore s;
  const base::Uuid id = s.asleep();
  JobId job = s.execute(id);
  s.clock.advance(kActDeadline);
  EXPECT_EQ(s.expire_deadlines(), 1);
  EXPECT_EQ(s.view(job).error->code, Code::kMachineWakeFailed);
  job = s.execute(id);
  const Lease wake = s.claim_act().lease;
  s.cancel(wake.job).value();
  s.cancelled(wake);
  EXPECT_EQ(s.view(job).error->code, Code::kMachineWakeFailed);
  EXPECT_EQ(s.look(id).last_error, "the machine operation was cancelled");
}

TEST(WaitingJobs, AnActWhoseWorkerIsLostIsDoneAgain) {
  MachineStore s;
  const base::Uuid id = s.asleep();
  const JobId job = s.execute(id);
  const Lease lost = s.claim_act().lease;
  EXPECT_EQ(s.release_worker(), 1);
  EXPECT_TRUE(s.view(job).waking);
  const ClaimedJob again = s.claim_act();
  EXPECT_EQ(again.lease.job, lost.job);
  EXPECT_EQ(s.finish(lost), ReportResult::kLeaseLost);
  EXPECT_EQ(s.look(id).phase, MachinePhase::kStarting);
  EXPECT_EQ(s.finish(again.lease), ReportResult::kApplied);
  EXPECT_EQ(s.look(id).phase, MachinePhase::kRunning);
  EXPECT_FALSE(s.view(job).waking);
}

TEST(WaitingJobs, TheyCanBeCancelledAndExpire) {
  MachineStore s;
  const base::Uuid id = s.asleep();
  const JobId cancelled = s.execute(id);
  auto order = s.execution(id);
  order.deadline_after = 60s;
  const JobId expired = s.submit(order);
  EXPECT_EQ(s.cancel(cancelled)->status, JobStatus::kCancelled);
  EXPECT_FALSE(s.view(cancelled).waking);
  s.clock.advance(60s);
  EXPECT_EQ(s.expire_deadlines(), 1);
  EXPECT_EQ(s.status(expired), JobStatus::kExpired);
  s.do_act();
  EXPECT_TRUE(s.claim_executions().empty());
}

TEST(WaitingJobs, AKeyJoinsTheJobWhateverBecameOfTheMachine) {
  MachineStore s;
  const base::Uuid id = s.asleep();
  auto order = s.execution(id);
  order.idempotency = IdempotencyKey{"POST", "/v1/machines/x/executions", "k", {}};
  const JobId job = s.submit(order);
  order.id = s.new_id(schemas::Kind::kExec);
  EXPECT_EQ(s.try_submit(order)->job, job);
  s.cancel(job).value();
  s.do_act();
  s.submit_command(id, MachineCommand::kDestroy).value();
  EXPECT_EQ(s.try_submit(order)->job, job);
  s.do_act();
  EXPECT_EQ(s.try_submit(order)->job, job);
  order.idempotency->key = "other";
  EXPECT_EQ(s.try_submit(order).error().code, Code::kNotFound);
  s.clock.advance(1s);
  EXPECT_EQ(s.try_submit(order).error().code, Code::kNotFound) << "a refused call does not store its key";
}

TEST(WaitingJobs, ListsOmitMachineOperationsUnlessTheyAreRequested) {
  MachineStore s;
  s.awake();
  const JobId ocr = s.submit();
  const auto listed = s.queries().list(kTenant, {}, 9, {})->items;
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0].id, ocr);
  const auto acts = s.queries().list(kTenant, {.kind = schemas::Kind::kMachine}, 9, {})->items;
  ASSERT_EQ(acts.size(), 1u);
  EXPECT_EQ(acts[0].status, JobStatus::kSucceeded);
  EXPECT_EQ(s.retry_job(acts[0].id).error().code, Code::kInvalidState);
}

TEST(WaitingJobs, TheirHistoryBeginsWithTheWakeOnEveryPage) {
  MachineStore s;
  const base::Uuid id = s.asleep();
  const JobId job = s.execute(id);
  s.do_act();
  const auto types = [&](std::int64_t after, int limit) {
    std::string all;
    const auto events = s.queries().events(kTenant, job, after, limit).value();
    for (const auto& event : events) all += event.type + " ";
    return all;
  };
  EXPECT_EQ(types(0, 9), "wake_in_progress queued ");
  EXPECT_EQ(types(0, 1), "wake_in_progress ");
  EXPECT_EQ(types(1, 9), "queued ");
  EXPECT_EQ(s.view(job).version, 2);
  const JobId at_once = s.execute(id);
  EXPECT_EQ(s.queries().events(kTenant, at_once, 0, 1).value().at(0).type, "queued");
}

TEST(WaitingJobs, AnExecutionIsAuditedWithItsActor) {
  MachineStore s;
  const base::Uuid id = s.awake();
  auto order = s.execution(id);
  order.actor = "key-7";
  const JobId job = s.submit(order);
  EXPECT_EQ(s.audited(job.str()), std::vector<std::string>{"execution.create by key-7"});
  s.cancel(job, kTenant, "key-8").value();
  s.cancel(job, kTenant, "key-8").value();  // it has ended: the call has no effect
  s.remove(job, "key-9").value();
  EXPECT_EQ(s.audited(job.str()),
            (std::vector<std::string>{"execution.create by key-7", "execution.cancel by key-8",
                                      "execution.delete by key-9"}));
}

TEST(WaitingJobs, AJobOfAnotherKindIsNotAudited) {
  MachineStore s;
  const JobId job = s.submit();
  s.cancel(job, kTenant, "key-8").value();
  s.remove(job, "key-8").value();
  EXPECT_TRUE(s.audited(job.str()).empty());
}

}  // namespace
}  // namespace millrace::storage::testing
