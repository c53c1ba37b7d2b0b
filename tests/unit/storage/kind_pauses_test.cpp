#include "storage/jobs/kind_pauses.h"

#include "storage/admin/admin_queries.h"
#include "storage/workers/workers.h"
#include "tests/support/answer.h"
#include "tests/unit/storage/job_store.h"
#include "tests/unit/storage/opened_store.h"

namespace millrace::storage::testing {
namespace {

bool pause(JobStore& s, schemas::Kind kind = schemas::Kind::kOcr) {
  return await<bool>([&](auto done) { KindPauses(s.store()).pause(kind, done); }).value();
}
bool resume(JobStore& s, schemas::Kind kind = schemas::Kind::kOcr) {
  return await<bool>([&](auto done) { KindPauses(s.store()).resume(kind, done); }).value();
}
base::Result<bool> drain_worker(JobStore& s, const std::string& name = "w-1") {
  return await<bool>([&](auto done) { WorkerDrains(s.store()).drain(name, done); });
}

TEST(KindPauses, AJobOfAPausedKindIsAcceptedAndStaysQueuedUntilItIsResumed) {
  JobStore s;
  EXPECT_TRUE(pause(s));
  const auto job = s.submit();
  EXPECT_TRUE(s.claim(1).empty());
  EXPECT_FALSE(has_ready_jobs(s.store(), schemas::Kind::kOcr).value()) << "no token may claim";
  EXPECT_EQ(s.status(job), JobStatus::kQueued);
  EXPECT_TRUE(resume(s));
  EXPECT_EQ(s.claim_one().job, job);
}

TEST(KindPauses, OtherKindsGoOn) {
  JobStore s;
  pause(s);
  s.submit(s.command());
  EXPECT_EQ(s.claim_command().job.kind, schemas::Kind::kExec);
}

TEST(KindPauses, WhatRunsGoesOnToItsEnd) {
  JobStore s;
  const Lease lease = s.submit_and_claim();
  pause(s);
  EXPECT_TRUE(s.beat({lease}).lost.empty());
  EXPECT_EQ(s.finish(lease), ReportResult::kApplied);
}

TEST(KindPauses, OutliveTheProcess) {
  JobStore s;
  pause(s);
  const auto since = s.clock.wall();
  s.submit();
  s.clock.advance(1min);
  s.reopen();
  EXPECT_TRUE(s.claim(1).empty());
  const auto paused = KindPauses(s.store()).list().value();
  ASSERT_EQ(paused.size(), 1u);
  EXPECT_EQ(paused[0].kind, schemas::Kind::kOcr);
  EXPECT_EQ(paused[0].since, since);
}

TEST(KindPauses, ThePositionOfTheTenantsIsKept) {
  JobStore s;
  for (const char* tenant : {"a", "b", "a"}) s.submit(s.order(tenant));
  EXPECT_EQ(s.claim(1).at(0).tenant, "a");
  pause(s);
  resume(s);
  EXPECT_EQ(s.claim(1).at(0).tenant, "b");
}

TEST(KindPauses, ASecondPauseChangesNothingAndKeepsTheTimeOfTheFirst) {
  JobStore s;
  pause(s);
  const auto since = s.clock.wall();
  s.clock.advance(1min);
  EXPECT_FALSE(pause(s));
  EXPECT_EQ(KindPauses(s.store()).list().value().at(0).since, since);
  EXPECT_TRUE(resume(s));
  EXPECT_FALSE(resume(s));
}

TEST(KindPauses, AParkedClaimTakesNothingWhileItsKindIsPausedAndTheOldestJobWhenItIsResumed) {
  JobStore s;
  const auto withdrawn = std::make_shared<std::atomic<bool>>(false);
  support::Answer<std::vector<ClaimedJob>> answer;
  s.claims().claim({.kind = schemas::Kind::kOcr, .worker = "w-1", .count = 1, .withdrawn = withdrawn},
                   answer.take());
  pause(s);
  const auto job = s.submit();
  EXPECT_EQ(s.status(job), JobStatus::kQueued);
  resume(s);
  const auto claimed = answer.wait().value();
  ASSERT_EQ(claimed.size(), 1u);
  EXPECT_EQ(claimed[0].lease.job, job);
}

TEST(KindPauses, ATokenOfAPausedKindIsNotTakenForLost) {
  JobStore s(true);
  s.beat({}, 4, 0);
  s.submit();
  pause(s);
  for (int i = 0; i < 10; ++i) {
    s.clock.advance(5s);
    s.beat({}, 4, 0);
  }
  const auto again = [&] {
    return await<std::vector<ReadyJob>>(
               [&](auto done) { s.upkeep().republish_lost(schemas::Kind::kOcr, 10s, 100, done); })
        .value()
        .size();
  };
  EXPECT_EQ(again(), 0u);
  resume(s);
  EXPECT_EQ(again(), 1u);
}

TEST(WorkerDrains, AWorkerGetsItInItsNextHeartbeatReplyAndIsShownAsDraining) {
  JobStore s;
  EXPECT_FALSE(s.beat({}).drain);
  ASSERT_TRUE(drain_worker(s));
  EXPECT_TRUE(s.beat({}).drain);
  EXPECT_TRUE(AdminQueries(s.store()).workers().value().at(0).draining);
}

TEST(WorkerDrains, WhoStartsAgainUnderTheNameWorks) {
  JobStore s;
  s.beat({});
  ASSERT_TRUE(drain_worker(s));
  s.incarnation = base::Uuid::make(s.clock.wall());
  EXPECT_FALSE(s.beat({}).drain);
}

TEST(WorkerDrains, AWorkerThatNeverReportedIsNotFound) {
  JobStore s;
  EXPECT_EQ(drain_worker(s, "nobody").error().code, base::Code::kNotFound);
}

TEST(WorkerReports, ReportTheLagOfEachPartition) {
  JobStore s;
  WorkerReport report{"w-1", s.incarnation, "host", "1", {{schemas::Kind::kOcr, 4, 1}}};
  report.slots[0].lags = {{0, 12}, {3, 0}};
  ASSERT_TRUE(await<HeartbeatReply>([&](auto done) { s.claims().heartbeat(report, {}, kLease, done); }));
  const auto lags = AdminQueries(s.store()).workers().value().at(0).slots.at(0).lags;
  ASSERT_EQ(lags.size(), 2u);
  EXPECT_EQ(lags[0].tokens, 12);
  EXPECT_EQ(lags[1].partition, 3);
}

}  // namespace
}  // namespace millrace::storage::testing
