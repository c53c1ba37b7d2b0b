#include "storage/jobs/maintenance_steps.h"
#include "storage/writer/readers.h"
#include "storage/writer/store_clock.h"
#include "tests/unit/storage/machine_store.h"

// A jump of the wall clock moves what a duration made, in both directions and over restarts.
namespace millrace::storage::testing {
namespace {

int drop_day_old_results(JobStore& s) {
  return s.step([&](auto done) { s.upkeep().drop_results(kDay, 100, done); });
}

RetryPlan pause_of(std::chrono::milliseconds length) {
  RetryPlan plan;
  plan.delay = length;
  return plan;
}

// Commits once after this time.
void pass(JobStore& s, std::chrono::milliseconds time) {
  s.clock.advance(time);
  (void)s.step([&](auto done) { s.upkeep().cancel_orphans(1, done); });
}

std::chrono::milliseconds jumps(JobStore& s) {
  return read(s.store().readers(), [](Db& db) { return clock_jumps(db); }).value();
}

base::WallTime due_after_jump(JobStore& s) { return s.upkeep().next_due(kLease).value().value(); }

// Where a jump happens: while the store is open, or between two of its processes.
enum class Where { kOpen, kClosed };
struct Jump {
  std::chrono::milliseconds by;
  Where where;
};
void jump(JobStore& s, const Jump& jump) {
  if (jump.where == Where::kClosed) s.stop();
  s.clock.jump_wall(jump.by);
  if (jump.where == Where::kClosed) s.reopen();
  pass(s, 0s);
}

class ClockJumps : public ::testing::TestWithParam<Jump> {
 protected:
  void jump_now() { jump(s, GetParam()); }

  JobStore s;
};
INSTANTIATE_TEST_SUITE_P(Both, ClockJumps,
                         ::testing::Values(Jump{2 * kDay, Where::kOpen}, Jump{-2 * kDay, Where::kOpen},
                                           Jump{2 * kDay, Where::kClosed}, Jump{-2 * kDay, Where::kClosed}));

TEST_P(ClockJumps, DeadlinesOfUntouchedAndOtherJobsAreMoved) {
  auto other = s.order();
  other.deadline_after = kDay + 1ms;
  const std::vector<schemas::JobId> jobs{s.submit(), s.submit(std::move(other))};
  const auto deadline = s.view(jobs[0]).deadline;
  pass(s, 1h);
  jump_now();
  EXPECT_EQ(s.view(jobs[0]).deadline, deadline + GetParam().by);
  pass(s, kDay - 1h - 1ms);
  EXPECT_EQ(s.expire_deadlines(), 0);
  pass(s, 2ms);
  EXPECT_EQ(s.expire_deadlines(), 2);
  for (const auto& job : jobs) EXPECT_EQ(s.status(job), JobStatus::kExpired);
}

TEST_P(ClockJumps, AJobWithTimeLeftIsClaimed) {
  s.submit();
  pass(s, 1h);
  jump_now();
  const auto claimed = s.claim(1);
  ASSERT_EQ(claimed.size(), 1u);
  EXPECT_EQ(claimed[0].deadline, s.clock.wall() + kDay - 1h);
  EXPECT_EQ(claimed[0].queued_at, s.clock.wall() - 1h);
}

TEST_P(ClockJumps, ARetryPauseKeepsItsLength) {
  s.retry(s.submit_and_claim(), pause_of(60s));
  pass(s, 10s);
  jump_now();
  EXPECT_EQ(s.release_due(), 0);
  EXPECT_EQ(due_after_jump(s), s.clock.wall() + 50s);
  pass(s, 50s - 1ms);
  EXPECT_EQ(s.release_due(), 0);
  pass(s, 1ms);
  EXPECT_EQ(s.release_due(), 1);
  EXPECT_EQ(s.claim(1).size(), 1u);
}

TEST_P(ClockJumps, ResultsAreKeptAsLongAsWithoutIt) {
  const Lease lease = s.submit_and_claim();
  s.finish(lease);
  pass(s, 1h);
  jump_now();
  EXPECT_EQ(s.view(lease.job).result_expires_at, s.clock.wall() + kDay - 1h);
  pass(s, kDay - 1h - 1ms);
  EXPECT_EQ(drop_day_old_results(s), 0);
  pass(s, 1ms);
  EXPECT_EQ(drop_day_old_results(s), 1);
}

TEST_P(ClockJumps, AnIdempotencyKeyIsKeptForItsDay) {
  auto order = s.order();
  order.idempotency = IdempotencyKey{"POST", "/v1/ocr", "a", {}};
  s.submit(order);
  s.finish(s.claim_one());
  s.remove_job(order.id).value();
  pass(s, 1h);
  jump_now();
  const auto drop = [&] { return s.step([&](auto done) { s.upkeep().drop_idempotency(9, done); }); };
  pass(s, kDay - 1h - 1ms);
  EXPECT_EQ(drop(), 0);
  pass(s, 1ms);
  EXPECT_EQ(drop(), 1);
}

TEST_P(ClockJumps, WhatIsAcceptedAfterItCountsFromThere) {
  jump_now();
  const auto job = s.submit();
  EXPECT_EQ(s.view(job).created_at, s.clock.wall());
  EXPECT_EQ(s.view(job).deadline, s.clock.wall() + kDay);
  pass(s, kDay - 1ms);
  EXPECT_EQ(s.expire_deadlines(), 0);
  pass(s, 1ms);
  EXPECT_EQ(s.expire_deadlines(), 1);
}

TEST_P(ClockJumps, SetRightAgainNothingRemains) {
  const auto job = s.submit();
  const auto deadline = s.view(job).deadline;
  jump_now();
  s.clock.jump_wall(-GetParam().by);
  pass(s, 0s);
  EXPECT_EQ(jumps(s), 0ms);
  EXPECT_EQ(s.view(job).deadline, deadline);
}

TEST_P(ClockJumps, ALostTokenIsPublishedAgainInTime) {
  JobStore store(true);
  store.beat({}, 4, 0);
  store.submit();
  jump(store, GetParam());
  for (int i = 0; i < 4; ++i) {
    store.clock.advance(5s);
    store.beat({}, 4, 0);
  }
  const auto lost = await<std::vector<ReadyJob>>(
      [&](auto done) { store.upkeep().republish_lost(schemas::Kind::kOcr, 15s, 9, done); });
  EXPECT_EQ(lost->size(), 1u);
}

TEST_P(ClockJumps, AMachineSleepsAfterItsIdleTime) {
  MachineStore machines;
  const base::Uuid id = machines.awake(3600);
  pass(machines, 10min);
  machines.clock.jump_wall(GetParam().by);
  pass(machines, 0s);
  EXPECT_EQ(machines.put_to_sleep(), 0);
  EXPECT_EQ(machines.machine_maintenance().next_due().value(), machines.clock.wall() + 50min);
  pass(machines, 50min);
  EXPECT_EQ(machines.put_to_sleep(), 1);
  EXPECT_EQ(machines.look(id).desired, schemas::MachineState::kSleeping);
}

TEST(StoreClock, AClockThatStandsEarlierAfterARebootHasGoneBack) {
  JobStore s;
  const auto job = s.submit();
  s.retry(s.claim_one(), pause_of(60s));
  pass(s, 1min + 1s);
  s.stop();
  s.clock.reboot("boot-2");
  s.clock.jump_wall(-365 * kDay);
  s.reopen();
  pass(s, 0s);
  EXPECT_LE(s.view(job).deadline - s.clock.wall(), kDay);
  EXPECT_EQ(s.release_due(), 1) << "its pause had ended before";
}

TEST(StoreClock, ALaterClockAfterARebootIsTimeThatHasPassed) {
  JobStore s;
  const auto job = s.submit();
  s.stop();
  s.clock.reboot("boot-2");
  s.clock.jump_wall(2 * kDay);
  s.reopen();
  EXPECT_EQ(s.expire_deadlines(), 0);
  pass(s, kDeadlineGrace);
  EXPECT_EQ(s.expire_deadlines(), 1);
  EXPECT_EQ(s.status(job), JobStatus::kExpired);
}

TEST(StoreClock, AClockThatIsSetBackSoonAfterARebootHasPassedNoTime) {
  JobStore s;
  const auto job = s.submit();
  const auto deadline = s.view(job).deadline;
  s.stop();
  s.clock.reboot("boot-2");
  s.clock.jump_wall(2 * kDay);
  s.reopen();
  pass(s, 30s);
  s.clock.jump_wall(-2 * kDay);
  pass(s, 1s);
  pass(s, kDeadlineGrace);
  EXPECT_EQ(s.expire_deadlines(), 0);
  EXPECT_EQ(s.view(job).deadline, deadline);
}

TEST(StoreClock, AJobThatIsSplitAfterAJumpKeepsItsDeadlineAndTheQueueItsOrder) {
  JobStore s;
  s.submit();
  const Lease lease = s.claim_one();
  s.clock.jump_wall(2 * kDay);
  s.split(lease, 1);
  const auto claimed = s.claim(1);
  ASSERT_EQ(claimed.size(), 1u);
  EXPECT_EQ(claimed[0].deadline, s.clock.wall() + kDay);
  EXPECT_EQ(claimed[0].queued_at, s.clock.wall());
}

TEST(StoreClock, ACorrectionOfSomeSecondsIsNoJump) {
  JobStore s;
  s.submit();
  s.clock.jump_wall(5s);
  pass(s, 0s);
  EXPECT_EQ(jumps(s), 0ms);
}

TEST(StoreClock, TwoProcessesRecordAJumpOnce) {
  JobStore s;
  s.submit();
  Store::Options options;
  options.data_dir = s.folder();
  auto other = Store::open(options, s.clock).value();
  s.clock.jump_wall(1h);
  pass(s, 0s);
  JobMaintenance theirs(*other);
  EXPECT_TRUE(await<int>([&](auto done) { theirs.cancel_orphans(1, done); }));
  EXPECT_EQ(jumps(s), std::chrono::milliseconds(1h));
  other->close();
}

}  // namespace
}  // namespace millrace::storage::testing
