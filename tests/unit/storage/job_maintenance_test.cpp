#include "storage/jobs/job_maintenance.h"

#include "storage/jobs/maintenance_steps.h"
#include "tests/unit/storage/fake_blob.h"
#include "tests/unit/storage/job_store.h"

namespace millrace::storage::testing {
namespace {

int drop_results(JobStore& s, int limit = 100) {
  return s.step([&](auto done) { s.upkeep().drop_results(kDay, limit, done); });
}
int drop_jobs(JobStore& s, int limit = 100) {
  return s.step([&](auto done) { s.upkeep().drop_jobs(7 * kDay, limit, done); });
}
int drop_keys(JobStore& s) {
  return s.step([&](auto done) { s.upkeep().drop_idempotency(100, done); });
}
std::vector<std::string> drop_blobs(JobStore& s) {
  return await<std::vector<std::string>>([&](auto done) { s.upkeep().drop_blobs(100, done); }).value();
}

TEST(JobMaintenance, EveryStepIsBounded) {
  JobStore s;
  auto order = s.order();
  order.deadline_after = 1min;
  for (int i = 0; i < 5; ++i) {
    order.id = s.new_id();
    s.submit(order);
  }
  s.clock.advance(1min);
  const auto expire = [&] { return s.step([&](auto done) { s.upkeep().expire_deadlines(2, done); }); };
  EXPECT_EQ(expire(), 2);
  EXPECT_EQ(expire(), 2);
  EXPECT_EQ(expire(), 1);
  EXPECT_EQ(expire(), 0);
}

TEST(JobMaintenance, ADeadlineEndsQueuedAndWaitingJobsAndNoRunningOnes) {
  JobStore s;
  const Lease running = s.submit_and_claim();
  const Lease waiting = s.submit_and_claim();
  s.split(waiting, 1);
  const Lease retried = [&] {
    s.submit();
    const auto claimed = s.claim(2);
    for (const auto& c : claimed) {
      if (!c.parent) return c.lease;
    }
    return Lease{};
  }();
  RetryPlan plan;
  plan.delay = 48h;
  s.retry(retried, plan);
  EXPECT_EQ(s.expire_deadlines(), 0);
  s.clock.advance(kDay);
  EXPECT_EQ(s.expire_deadlines(), 2);
  EXPECT_EQ(s.status(running.job), JobStatus::kRunning);
  EXPECT_EQ(s.status(waiting.job), JobStatus::kExpired);
  EXPECT_EQ(s.status(retried.job), JobStatus::kExpired);
}

// An untouched job and a job with an entry in the deadline index, in a store that has run for a while.
std::vector<schemas::JobId> two_queued(JobStore& s) {
  auto order = s.order();
  order.deadline_after = kDay + 1h;
  std::vector jobs{s.submit(), s.submit(std::move(order))};
  s.clock.advance(2min);
  EXPECT_EQ(s.expire_deadlines(), 0);
  return jobs;
}

TEST(JobMaintenance, AClockThatJumpsAndIsSetRightWithinAMinuteExpiresNothing) {
  JobStore s;
  const auto jobs = two_queued(s);
  s.clock.jump_wall(2 * kDay);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(s.expire_deadlines(), 0);
    s.clock.advance(1s);
  }
  s.clock.jump_wall(-2 * kDay);
  EXPECT_EQ(s.expire_deadlines(), 0);
  for (const auto& job : jobs) EXPECT_EQ(s.status(job), JobStatus::kQueued);
  EXPECT_EQ(s.claim(2).size(), 2u);
}

TEST(JobMaintenance, ADeadlineCountsAMinuteAfterAClockJumpThatStays) {
  JobStore s;
  two_queued(s);
  s.clock.advance(2 * kDay);
  s.clock.jump_wall(1h);
  EXPECT_EQ(s.expire_deadlines(), 0);
  EXPECT_TRUE(s.claim(2).empty()) << "overdue, so not claimed";
  s.clock.advance(kDeadlineGrace - 1ms);
  EXPECT_EQ(s.expire_deadlines(), 0);
  s.clock.advance(1ms);
  EXPECT_EQ(s.expire_deadlines(), 2);
}

TEST(JobMaintenance, AStartExpiresNothingForAMinute) {
  JobStore s;
  const auto job = s.submit();
  s.clock.advance(2 * kDay);
  s.reopen();
  EXPECT_EQ(s.expire_deadlines(), 0);
  EXPECT_TRUE(s.claim(1).empty());
  s.clock.advance(kDeadlineGrace);
  EXPECT_EQ(s.expire_deadlines(), 1);
  EXPECT_EQ(s.status(job), JobStatus::kExpired);
}

TEST(JobMaintenance, RetentionDeletesResultsFirstAndInputsOfSucceededJobs) {
  JobStore s;
  const auto input = std::make_shared<FakeBlob>("document", "a");
  const auto result = std::make_shared<FakeBlob>("result", "b");
  auto order = s.order();
  order.input = input;
  s.submit(order);
  const Lease lease = s.claim_one();
  s.part(lease, 0);
  await<ReportResult>([&](auto done) { s.outcomes().finish(lease, {"", result}, done); }).value();
  s.clock.advance(kDay - 1ms);
  EXPECT_EQ(drop_results(s), 0);
  s.clock.advance(1ms);
  EXPECT_EQ(drop_results(s), 1);
  EXPECT_EQ(drop_results(s), 0);
  EXPECT_FALSE(s.queries().result(kTenant, order.id)->payload.has_value());
  EXPECT_TRUE(s.queries().part_sizes(kTenant, order.id)->empty());
  EXPECT_EQ(s.view(order.id).status, JobStatus::kSucceeded);
  auto paths = drop_blobs(s);
  std::sort(paths.begin(), paths.end());
  auto expected = std::vector{input->ref().path, result->ref().path};
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(paths, expected);
  s.clock.advance(6 * kDay);
  EXPECT_EQ(drop_jobs(s), 1);
  EXPECT_EQ(s.queries().job(kTenant, order.id).error().code, base::Code::kNotFound);
  EXPECT_TRUE(drop_blobs(s).empty());
}

TEST(JobMaintenance, InputsOfFailedJobsStaySoThatARetryWorks) {
  JobStore s;
  const auto input = std::make_shared<FakeBlob>("document", "a");
  auto order = s.order();
  order.input = input;
  s.submit(order);
  s.fail(s.claim_one());
  s.clock.advance(6 * kDay);
  EXPECT_EQ(drop_results(s), 1);
  EXPECT_TRUE(drop_blobs(s).empty());
  EXPECT_TRUE(s.retry_job(order.id).has_value());
  EXPECT_EQ(s.claim(1).at(0).input, input->ref());
}

TEST(JobMaintenance, ChildrenGoBeforeTheirParentInBoundedSteps) {
  JobStore s;
  const Lease parent = s.submit_and_claim();
  s.split(parent, 5);
  for (const auto& child : s.claim(5)) s.finish(child.lease, "1");
  s.finish(s.claim_one(), "2");
  s.clock.advance(7 * kDay);
  EXPECT_EQ(drop_results(s), 1);
  EXPECT_EQ(drop_jobs(s, 3), 3);
  EXPECT_EQ(s.view(parent.job).status, JobStatus::kSucceeded);
  EXPECT_EQ(s.children(parent.job).size(), 2u);
  EXPECT_EQ(drop_jobs(s, 3), 3);
  EXPECT_EQ(s.queries().job(kTenant, parent.job).error().code, base::Code::kNotFound);
  EXPECT_EQ(drop_jobs(s, 3), 0);
}

TEST(JobMaintenance, NothingOfAParentIsDeletedWhileItsChildrenRun) {
  JobStore s;
  const Lease parent = s.submit_and_claim();
  s.split(parent, 1);
  const Lease child = s.claim_one();
  s.cancel(parent.job).value();
  s.clock.advance(8 * kDay);
  EXPECT_EQ(drop_results(s), 0);
  EXPECT_EQ(drop_jobs(s), 0);
  s.cancelled(child);
  EXPECT_EQ(drop_jobs(s), 2);
}

TEST(JobMaintenance, RetentionWaitsAnHourAfterAClockJump) {
  JobStore s;
  s.finish(s.submit_and_claim());
  s.clock.advance(8 * kDay);
  s.clock.jump_wall(1h);
  EXPECT_EQ(drop_results(s), 0);
  EXPECT_EQ(drop_jobs(s), 0);
  s.clock.advance(1h);
  EXPECT_EQ(drop_jobs(s), 1);
}

TEST(JobMaintenance, AnIdempotencyKeyIsDeletedWithItsJobOrADayAfterItsEnd) {
  JobStore s;
  auto order = s.order();
  order.idempotency = IdempotencyKey{"POST", "/v1/ocr", "old", {}};
  s.submit(order);
  s.finish(s.claim_one());
  s.clock.advance(7 * kDay);
  EXPECT_EQ(drop_jobs(s), 1);
  order.id = s.new_id();
  EXPECT_FALSE(s.try_submit(order)->replayed);

  s.finish(s.claim_one());
  s.clock.advance(2h);
  EXPECT_EQ(s.step([&](auto done) { s.upkeep().drop_jobs(1h, 9, done); }), 1);
  s.clock.advance(22h - 1ms);
  EXPECT_EQ(drop_keys(s), 0);
  EXPECT_EQ(s.try_submit(order).error().code, base::Code::kResultExpired);
  s.clock.advance(1ms);
  EXPECT_EQ(drop_keys(s), 1);
  order.id = s.new_id();
  EXPECT_FALSE(s.try_submit(order)->replayed);
}

TEST(JobMaintenance, TheNextDueTimeIsTheEarliestOfRetryDeadlineAndLease) {
  JobStore s;
  const auto due = [&] { return s.upkeep().next_due(kLease).value(); };
  EXPECT_EQ(due(), std::nullopt);
  s.submit();
  EXPECT_EQ(s.expire_deadlines(), 0) << "the first scan of the queues expires nothing";
  EXPECT_EQ(due(), s.clock.wall() + kDay);
  const Lease lease = s.claim_one();
  EXPECT_EQ(due(), s.clock.wall() + kLease);
  RetryPlan plan;
  plan.delay = 7s;
  s.retry(lease, plan);
  EXPECT_EQ(due(), s.clock.wall() + 7s);
}

}  // namespace
}  // namespace millrace::storage::testing
