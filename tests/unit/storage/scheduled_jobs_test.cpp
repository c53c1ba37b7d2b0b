#include "storage/jobs/maintenance_steps.h"
#include "tests/unit/storage/machine_store.h"

// Jobs with a run_at or a delay.
namespace millrace::storage::testing {
namespace {

using schemas::JobStart;

Submission scheduled(JobStore& s, const JobStart& start) {
  auto order = s.order();
  order.start = start;
  return order;
}

std::vector<std::string> types_of(JobStore& s, const schemas::JobId& job) {
  std::vector<std::string> types;
  const auto events = s.queries().events(kTenant, job, 0, 99).value();
  for (const auto& event : events) types.push_back(event.type);
  return types;
}

std::size_t listed(JobStore& s, const std::string& status) {
  return s.queries().list(kTenant, {.status = status}, 9, {})->items.size();
}

// Both ways to name the time an hour from now.
std::vector<JobStart> in_an_hour(JobStore& s) { return {s.clock.wall() + 1h, std::chrono::milliseconds(1h)}; }

TEST(ScheduledJobs, OneStartsAtItsTimeAndNotBefore) {
  JobStore s;
  for (const JobStart& start : in_an_hour(s)) {
    const auto made = s.try_submit(scheduled(s, start)).value();
    const auto run_at = s.clock.wall() + 1h;
    EXPECT_EQ(made.run_at, run_at);
    EXPECT_EQ(schemas::public_status(s.view(made.job)), "scheduled");
    EXPECT_EQ(s.view(made.job).run_at, run_at);
    EXPECT_EQ(s.view(made.job).deadline, run_at + kDay);
    EXPECT_EQ(s.upkeep().next_due(kLease).value(), run_at);
    s.clock.advance(1h - 1ms);
    EXPECT_EQ(s.release_due(), 0);
    EXPECT_TRUE(s.claim(1).empty());
    s.clock.advance(1ms);
    EXPECT_EQ(s.release_due(), 1);
    EXPECT_EQ(schemas::public_status(s.view(made.job)), "queued");
    EXPECT_FALSE(s.view(made.job).run_at);
    const auto claimed = s.claim(1);
    ASSERT_EQ(claimed.size(), 1u);
    EXPECT_EQ(claimed[0].queued_at, run_at);
    EXPECT_EQ(types_of(s, made.job), (std::vector<std::string>{"scheduled", "queued", "running"}));
    s.finish(claimed[0].lease);
  }
}

TEST(ScheduledJobs, ItsTimeIsOnDisk) {
  JobStore s;
  for (const JobStart& start : in_an_hour(s)) s.submit(scheduled(s, start));
  s.reopen();
  s.clock.advance(1h - 1ms);
  EXPECT_EQ(s.release_due(), 0);
  s.clock.advance(1ms);
  s.reopen();
  EXPECT_EQ(s.release_due(), 2);
}

TEST(ScheduledJobs, ATimeFollowsTheWallClockAndADelayDoesNot) {
  for (const auto by : {std::chrono::milliseconds(-30min), std::chrono::milliseconds(30min)}) {
    JobStore s;
    const auto starts = in_an_hour(s);
    const auto at_time = s.submit(scheduled(s, starts[0])), delayed = s.submit(scheduled(s, starts[1]));
    s.clock.jump_wall(by);
    s.release_due();
    EXPECT_EQ(s.view(at_time).run_at, s.clock.wall() + 1h - by);
    EXPECT_EQ(s.view(delayed).run_at, s.clock.wall() + 1h);
    s.clock.advance(1h - by);
    s.release_due();
    EXPECT_FALSE(s.view(at_time).scheduled);
    EXPECT_EQ(s.view(at_time).deadline, s.clock.wall() + kDay);
    EXPECT_EQ(s.view(delayed).scheduled, by > 0ms);
    s.clock.advance(30min);
    s.release_due();
    EXPECT_FALSE(s.view(delayed).scheduled);
    EXPECT_EQ(s.claim(2).size(), 2u);
  }
}

TEST(ScheduledJobs, ItExpiresADayAfterItsTime) {
  JobStore s;
  const auto job = s.submit(scheduled(s, std::chrono::milliseconds(2 * kDay)));
  s.clock.advance(2 * kDay - 1ms);
  EXPECT_EQ(s.expire_deadlines(), 0);
  s.clock.advance(1ms);
  EXPECT_EQ(s.release_due(), 1);
  s.clock.advance(kDay - 1ms);
  EXPECT_EQ(s.expire_deadlines(), 0);
  s.clock.advance(1ms);
  EXPECT_EQ(s.expire_deadlines(), 1);
  EXPECT_EQ(s.status(job), JobStatus::kExpired);
}

TEST(ScheduledJobs, AJumpAfterItsTimeMovesItsDeadline) {
  JobStore s;
  const auto job = s.submit(scheduled(s, s.clock.wall() + 1h));
  s.clock.advance(1h);
  s.release_due();
  s.clock.jump_wall(2 * kDay);
  s.release_due();
  EXPECT_EQ(s.view(job).deadline, s.clock.wall() + kDay);
}

TEST(ScheduledJobs, ALateStartDoesNotExpireIt) {
  for (const bool is_delay : {false, true}) {
    JobStore s;
    const auto job = s.submit(scheduled(s, in_an_hour(s)[is_delay ? 1 : 0]));
    s.stop();
    s.clock.advance(3 * kDay);
    s.reopen();
    EXPECT_EQ(s.release_due(), 1);
    EXPECT_EQ(s.view(job).deadline, s.clock.wall() + kDay);
    s.clock.advance(kDeadlineGrace);
    EXPECT_EQ(s.expire_deadlines(), 0);
    EXPECT_EQ(s.claim(1).size(), 1u);
  }
}

TEST(ScheduledJobs, AJumpAheadThatIsUndoneExpiresNone) {
  JobStore s;
  const auto job = s.submit(scheduled(s, s.clock.wall() + 1h));
  s.clock.jump_wall(2 * kDay);
  s.release_due();
  s.clock.advance(10s);
  s.clock.jump_wall(-2 * kDay);
  s.release_due();
  s.clock.advance(2 * kDeadlineGrace);
  EXPECT_EQ(s.expire_deadlines(), 0);
  s.clock.advance(1h);
  s.release_due();
  EXPECT_EQ(s.view(job).status, JobStatus::kQueued);
  EXPECT_EQ(s.claim(1).size(), 1u);
}

TEST(ScheduledJobs, ATimeThatHasPassedIsNow) {
  JobStore s;
  const auto made = s.try_submit(scheduled(s, s.clock.wall() - 1s)).value();
  EXPECT_FALSE(made.run_at);
  EXPECT_EQ(s.view(made.job).deadline, s.clock.wall() + kDay);
  s.submit(scheduled(s, std::chrono::milliseconds(0)));
  EXPECT_EQ(s.claim(2).size(), 2u);
}

TEST(ScheduledJobs, TheyAreListedAndCountedByThemselves) {
  JobStore s;
  for (const JobStart& start : in_an_hour(s)) s.submit(scheduled(s, start));
  EXPECT_EQ(listed(s, "scheduled"), 2u);
  EXPECT_EQ(listed(s, "queued"), 0u);
  const auto depth = s.queries().depths()->at(0);
  EXPECT_EQ(depth.scheduled, 2);
  EXPECT_EQ(depth.queued, 0);
  EXPECT_FALSE(depth.oldest_queued);
  s.clock.advance(1h);
  s.release_due();
  EXPECT_EQ(listed(s, "scheduled"), 0u);
  EXPECT_EQ(listed(s, "queued"), 2u);
  EXPECT_EQ(s.queries().depths()->at(0).scheduled, 0);
  EXPECT_EQ(s.queries().depths()->at(0).queued, 2);
  EXPECT_EQ(s.queries().depths()->at(0).oldest_queued, s.clock.wall()) << "it waits only from its time on";
}

TEST(ScheduledJobs, ItIsCancelledAndDeletedLikeAQueuedOne) {
  JobStore s;
  const auto first = s.submit(scheduled(s, std::chrono::milliseconds(1h))),
             second = s.submit(scheduled(s, std::chrono::milliseconds(1h)));
  EXPECT_EQ(schemas::public_status(s.cancel(first).value()), "cancelled");
  s.remove_job(second).value();
  EXPECT_EQ(s.queries().job(kTenant, second).error().code, base::Code::kNotFound);
  s.clock.advance(1h);
  EXPECT_EQ(s.release_due(), 0);
}

TEST(ScheduledJobs, ARetryOfItStartsAtOnce) {
  JobStore s;
  const auto job = s.submit(scheduled(s, std::chrono::milliseconds(1h)));
  s.cancel(job).value();
  const auto again = s.retry_job(job).value().job;
  EXPECT_EQ(schemas::public_status(s.view(again)), "queued");
  EXPECT_EQ(s.claim_one().job, again);
}

TEST(ScheduledJobs, ARepeatWithItsKeyGivesTheSameJob) {
  JobStore s;
  auto order = scheduled(s, std::chrono::milliseconds(1h));
  order.idempotency = IdempotencyKey{"POST", "/v1/ocr", "a", {}};
  const auto first = s.submit(order);
  order.id = s.new_id();
  const auto again = s.try_submit(order).value();
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.job, first);
}

TEST(ScheduledJobs, ARepeatWithItsKeyGivesTheSameJobEvenAfterItsTime) {
  JobStore s;
  for (const JobStart& start : in_an_hour(s)) {
    auto order = scheduled(s, start);
    order.idempotency = IdempotencyKey{"POST", "/v1/ocr", std::to_string(start.index()), {}};
    const auto first = s.submit(order);
    s.clock.advance(1h + 2min);
    s.release_due();
    order.id = s.new_id();
    order.run_at_max = 1min;  // was lowered meanwhile
    const auto again = s.try_submit(order).value();
    EXPECT_TRUE(again.replayed);
    EXPECT_EQ(again.job, first);
  }
}

TEST(ScheduledJobs, ATimeThatIsLongPastOrTooFarAheadIsRefused) {
  JobStore s;
  const std::vector<JobStart> wrong{s.clock.wall() - 2min, s.clock.wall() + 2h,
                                    std::chrono::milliseconds(2h)};
  for (const JobStart& start : wrong) {
    auto order = scheduled(s, start);
    order.run_at_max = 1h;
    order.idempotency = IdempotencyKey{"POST", "/v1/ocr", "a", {}};
    EXPECT_EQ(s.try_submit(order).error().code, base::Code::kInvalidField);
    order.start.reset();
    order.idempotency->key = std::to_string(&start - wrong.data());
    s.submit(order);
  }
}

TEST(ScheduledJobs, ItsTokenIsPublishedAtItsTime) {
  JobStore s(true);
  const auto job = s.submit(scheduled(s, std::chrono::milliseconds(1h)));
  EXPECT_TRUE(s.commits().all().ready.empty());
  s.clock.advance(1h);
  EXPECT_EQ(s.release_due(), 1);
  ASSERT_TRUE(support::wait_until([&] { return !s.commits().all().ready.empty(); }));
  EXPECT_EQ(s.commits().all().ready.front().job, job);
}

TEST(ScheduledJobs, ARetryPauseOfItIsNoSchedule) {
  JobStore s;
  const auto job = s.submit(scheduled(s, std::chrono::milliseconds(1h)));
  s.clock.advance(1h);
  s.release_due();
  RetryPlan plan;
  plan.delay = 10s;
  s.retry(s.claim_one(), plan);
  EXPECT_EQ(schemas::public_status(s.view(job)), "queued");
  EXPECT_EQ(s.queries().depths()->at(0).scheduled, 0);
}

TEST(ScheduledJobs, OldOnesInTheQueueDoNotKeepTheDeadlineScanBusy) {
  JobStore s;
  s.submit(scheduled(s, std::chrono::milliseconds(2 * kDay)));
  s.clock.advance(2 * kDay);
  s.release_due();
  s.submit();
  s.expire_deadlines();
  EXPECT_GT(s.upkeep().next_due(kLease).value(), s.clock.wall());
}

TEST(ScheduledExecutions, ItsMachineMaySleepUntilItsTimeAndIsWokenThen) {
  MachineStore s;
  const base::Uuid id = s.awake(60);
  auto order = s.execution(id);
  order.start = std::chrono::milliseconds(1h);
  const auto job = s.submit(std::move(order));
  s.clock.advance(5min);
  EXPECT_EQ(s.put_to_sleep(), 1);
  s.do_act();
  s.clock.advance(55min);
  EXPECT_EQ(s.release_due(), 1);
  EXPECT_EQ(schemas::public_status(s.view(job)), "wake_in_progress");
  EXPECT_TRUE(s.claim_executions().empty());
  s.do_act();
  EXPECT_EQ(s.claim_executions().size(), 1u);
  EXPECT_EQ(types_of(s, job),
            (std::vector<std::string>{"scheduled", "wake_in_progress", "queued", "running"}));
}

TEST(ScheduledExecutions, AnAwakeMachineRunsItAtItsTime) {
  MachineStore s;
  auto order = s.execution(s.awake());
  order.start = s.clock.wall() + 1h;
  s.submit(std::move(order));
  s.clock.advance(1h);
  EXPECT_EQ(s.release_due(), 1);
  EXPECT_EQ(s.claim_executions().size(), 1u);
}

TEST(ScheduledExecutions, ItEndsWithItsMachine) {
  MachineStore s;
  const base::Uuid id = s.awake();
  auto order = s.execution(id);
  order.start = std::chrono::milliseconds(1h);
  const auto job = s.submit(std::move(order));
  s.submit_command(id, MachineCommand::kDestroy).value();
  EXPECT_EQ(s.status(job), JobStatus::kCancelled);
}

}  // namespace
}  // namespace millrace::storage::testing
