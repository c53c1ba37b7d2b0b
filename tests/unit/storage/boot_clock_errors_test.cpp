#include <sqlite3.h>

#include "storage/jobs/maintenance_steps.h"
#include "storage/tenants/reservations.h"
#include "storage/writer/readers.h"
#include "tests/unit/storage/machine_store.h"
#include "tests/unit/storage/opened_store.h"

// After a reboot the wall clock is ahead, and within an hour it is set right.
namespace millrace::storage::testing {
namespace {

constexpr auto kError = 2 * kDay;

void pass_time(JobStore& s, std::chrono::milliseconds time) {
  s.clock.advance(time);
  (void)s.step([&](auto done) { s.upkeep().cancel_orphans(1, done); });
}

void reboot_ahead(JobStore& s) {
  pass_time(s, 0s);
  s.stop();
  s.clock.reboot("boot-2");
  s.clock.jump_wall(kError);
  s.reopen();
  pass_time(s, 10s);
}

void set_right(JobStore& s) {
  s.clock.jump_wall(-kError);
  pass_time(s, 0s);
}

int drop_results_of_a_day(JobStore& s) {
  return s.step([&](auto done) { s.upkeep().drop_results(kDay, 100, done); });
}

std::int64_t number(JobStore& s, const char* sql) {
  return read(s.store().readers(),
              [sql](Db& db) {
                sqlite3_stmt* statement = nullptr;
                EXPECT_EQ(sqlite3_prepare_v2(sqlite_handle(db), sql, -1, &statement, nullptr), SQLITE_OK);
                EXPECT_EQ(sqlite3_step(statement), SQLITE_ROW);
                const std::int64_t number = sqlite3_column_int64(statement, 0);
                sqlite3_finalize(statement);
                return number;
              })
      .value();
}

TEST(ClockThatIsAheadAfterABoot, RetentionDeletesNothingIfItIsSetRightWithinAnHour) {
  JobStore s;
  const Lease lease = s.submit_and_claim();
  s.finish(lease);
  reboot_ahead(s);
  pass_time(s, 50min);
  EXPECT_EQ(drop_results_of_a_day(s), 0);
  set_right(s);
  pass_time(s, kRetentionGrace);
  EXPECT_EQ(drop_results_of_a_day(s), 0);
  pass_time(s, kDay - kRetentionGrace - 50min - 10s - 1ms);
  EXPECT_EQ(drop_results_of_a_day(s), 0);
  pass_time(s, 1ms);
  EXPECT_EQ(drop_results_of_a_day(s), 1);
}

TEST(ClockThatIsAheadAfterABoot, ARetryPauseThatBeganThenKeepsItsLength) {
  JobStore s;
  reboot_ahead(s);
  RetryPlan plan;
  plan.delay = 30s;
  s.retry(s.submit_and_claim(), plan);
  pass_time(s, 20s);
  set_right(s);
  EXPECT_EQ(s.release_due(), 0);
  EXPECT_EQ(s.upkeep().next_due(kLease).value(), s.clock.wall() + 10s);
  pass_time(s, 10s);
  EXPECT_EQ(s.release_due(), 1);
  EXPECT_EQ(s.claim(1).size(), 1u);
}

TEST(ClockThatIsAheadAfterABoot, ARetryPauseThatBeganBeforeIsNotProlonged) {
  JobStore s;
  RetryPlan plan;
  plan.delay = 60s;
  s.retry(s.submit_and_claim(), plan);
  reboot_ahead(s);
  set_right(s);
  EXPECT_LE(s.upkeep().next_due(kLease).value(), s.clock.wall() + 60s);
  pass_time(s, 60s);
  EXPECT_EQ(s.release_due(), 1);
}

TEST(ClockThatIsAheadAfterABoot, ADelayThatBeganThenKeepsItsLength) {
  JobStore s;
  reboot_ahead(s);
  auto order = s.order();
  order.start = std::chrono::milliseconds(1h);
  const auto job = s.submit(std::move(order));
  pass_time(s, 30min);
  set_right(s);
  EXPECT_EQ(s.view(job).run_at, s.clock.wall() + 30min);
  EXPECT_EQ(s.view(job).deadline, s.clock.wall() + 30min + kDay);
  pass_time(s, 30min);
  EXPECT_EQ(s.release_due(), 1);
  EXPECT_EQ(s.claim(1).size(), 1u);
}

TEST(ClockThatIsAheadAfterABoot, AJobOfThenExpiresAfterItsDay) {
  JobStore s;
  const auto before = s.submit();
  reboot_ahead(s);
  const auto job = s.submit();
  pass_time(s, 30s);
  set_right(s);
  EXPECT_EQ(s.view(before).deadline, s.clock.wall() + kDay - 40s);
  EXPECT_EQ(s.view(job).deadline, s.clock.wall() + kDay - 30s);
  pass_time(s, kDay - 30s - 1ms);
  EXPECT_EQ(s.expire_deadlines(), 1);
  EXPECT_EQ(s.status(before), JobStatus::kExpired);
  pass_time(s, 1ms);
  s.expire_deadlines();
  EXPECT_EQ(s.status(job), JobStatus::kExpired);
}

TEST(ClockThatIsAheadAfterABoot, PartsOfAnOlderJobKeepItsDeadline) {
  JobStore s;
  s.submit();
  const Lease lease = s.claim_one();
  reboot_ahead(s);
  s.split(lease, 2);
  set_right(s);
  const auto claimed = s.claim(2);
  ASSERT_EQ(claimed.size(), 2u);
  EXPECT_EQ(claimed[0].deadline, s.clock.wall() + kDay - 10s);
}

TEST(ClockThatIsAheadAfterABoot, AResultOfThenIsKeptForItsDay) {
  JobStore s;
  reboot_ahead(s);
  const Lease lease = s.submit_and_claim();
  s.finish(lease);
  pass_time(s, 10min);
  set_right(s);
  EXPECT_EQ(s.view(lease.job).result_expires_at, s.clock.wall() + kDay - 10min);
  pass_time(s, kDay - 10min - 1ms);
  EXPECT_EQ(drop_results_of_a_day(s), 0);
  pass_time(s, 1ms);
  EXPECT_EQ(drop_results_of_a_day(s), 1);
}

TEST(ClockThatIsAheadAfterABoot, AMachineThatWasUsedThenFallsAsleep) {
  MachineStore s;
  s.awake(60);
  reboot_ahead(s);
  EXPECT_TRUE(write(s.store(), [&](Tx& tx) {
    tx.db.prepare("UPDATE machines SET used_at = ?1").bind(base::millis(tx.steady())).run();
    return base::Status{};
  }));
  const auto used_at = s.clock.wall() - kError;
  set_right(s);
  EXPECT_EQ(number(s, "SELECT used_at FROM machines"), base::millis(used_at));
}

TEST(ClockThatIsAheadAfterABoot, AReservationAndAnIdempotencyKeyOfThenEndInTime) {
  JobStore s;
  reboot_ahead(s);
  const base::Uuid id = s.new_id().uuid;
  EXPECT_TRUE(write(s.store(), [&](Tx& tx) {
    tx.db
        .prepare(
            "INSERT INTO reservations (id, tenant, key_id, day, nano, first_nano, sent_nano, holder, "
            "expires_at) "
            "VALUES (?1, 'acme', 'k', 1, 0, 0, 0, ?1, ?2)")
        .bind(id, base::millis(tx.steady() + kReservationLife))
        .run();
    return base::Status{};
  }));
  auto order = s.order();
  order.idempotency = IdempotencyKey{"POST", "/v1/ocr", "a", {}};
  s.submit(order);
  s.finish(s.claim_one());
  s.remove_job(order.id).value();
  set_right(s);
  const std::int64_t now = base::millis(s.clock.wall());
  EXPECT_EQ(number(s, "SELECT expires_at FROM reservations"), now + kReservationLife.count());
  EXPECT_EQ(number(s, "SELECT expires_at FROM idempotency"), now + std::chrono::milliseconds(kDay).count());
}

TEST(ClockThatIsAheadAfterABoot, LaterThanAnHourItsErrorIsTimeThatHasPassed) {
  JobStore s;
  const auto job = s.submit();
  reboot_ahead(s);
  pass_time(s, 1h);
  set_right(s);
  pass_time(s, kDeadlineGrace);
  EXPECT_EQ(s.expire_deadlines(), 1);
  EXPECT_EQ(s.status(job), JobStatus::kExpired);
}

}  // namespace
}  // namespace millrace::storage::testing
