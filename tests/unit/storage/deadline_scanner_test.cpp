#include "storage/jobs/deadline_scanner.h"

#include <sqlite3.h>

#include "storage/sqlite/database.h"
#include "storage/sqlite/migrations.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/storage/job_store.h"
#include "tests/unit/storage/opened_store.h"

// Untouched jobs have no entry in the deadline index, and still expire in time.
namespace millrace::storage::testing {
namespace {

int expire(JobStore& s, int limit = 100) {
  return s.step([&](auto done) { s.upkeep().expire_deadlines(limit, done); });
}

base::WallTime next_due(JobStore& s) { return s.upkeep().next_due(kLease).value().value(); }

std::int64_t entries(Db& db) {
  auto counted = db.prepare(
      "SELECT count(*) FROM jobs INDEXED BY jobs_deadline WHERE status IN (0, 2) AND parent_id IS NULL AND "
      "schedule = 0 AND (version > 1 OR run_at > 0 OR deadline <> created_at + 86400000)");
  counted.step();
  return counted.integer(0);
}

std::int64_t deadline_entries(JobStore& s) {
  std::int64_t count = -1;
  (void)write(s.store(), [&count](Tx& tx) {
    count = entries(tx.db);
    return base::Status{};
  });
  return count;
}

schemas::JobId submit_for(JobStore& s, const std::string& tenant, int priority = 0) {
  auto order = s.order(tenant);
  order.priority = priority;
  return s.submit(std::move(order));
}

TEST(DeadlineScanner, ANewJobHasNoDeadlineEntryAndOneThatHasRunHas) {
  JobStore s;
  s.submit();
  EXPECT_EQ(deadline_entries(s), 0);
  const Lease lease = s.claim_one();
  EXPECT_EQ(deadline_entries(s), 0);
  s.retry(lease, {});
  EXPECT_EQ(deadline_entries(s), 1);
}

TEST(DeadlineScanner, AFreshJobEndsAtItsDeadlineAndNotBefore) {
  JobStore s;
  const auto job = s.submit();
  s.clock.advance(kDay - 1ms);
  EXPECT_EQ(expire(s), 0);
  s.clock.advance(1ms);
  EXPECT_EQ(expire(s), 1);
  EXPECT_EQ(s.status(job), schemas::JobStatus::kExpired);
  EXPECT_EQ(expire(s), 0);
}

TEST(DeadlineScanner, EveryTenantPriorityAndKindIsScanned) {
  JobStore s;
  std::vector<schemas::JobId> jobs;
  for (const char* tenant : {"a", "b", "c"}) {
    for (const int priority : {3, 0, -3}) jobs.push_back(submit_for(s, tenant, priority));
  }
  for (const auto kind : {schemas::Kind::kChat, schemas::Kind::kStt}) {
    auto order = s.order("a");
    order.id = s.new_id(kind);
    jobs.push_back(s.submit(std::move(order)));
  }
  s.clock.advance(kDay);
  EXPECT_EQ(expire(s), static_cast<int>(jobs.size()));
  for (const auto& job : jobs) EXPECT_EQ(s.status(job), schemas::JobStatus::kExpired) << job.str();
}

TEST(DeadlineScanner, AStepEndsAtMostItsLimitAndTheNextGoesOn) {
  JobStore s;
  for (int i = 0; i < 3; ++i) submit_for(s, "a");
  for (int i = 0; i < 2; ++i) submit_for(s, "b");
  s.clock.advance(kDay);
  EXPECT_EQ(expire(s, 2), 2);
  EXPECT_EQ(expire(s, 2), 2);
  EXPECT_EQ(expire(s, 2), 1);
  EXPECT_EQ(expire(s, 2), 0);
}

TEST(DeadlineScanner, AFirstJobWithALaterDeadlineHidesNoDueJob) {
  JobStore s;
  auto late = s.order();
  late.deadline_after = 3 * kDay;
  const auto head = s.submit(std::move(late));
  const auto behind = s.submit();
  s.clock.advance(kDay);
  EXPECT_EQ(expire(s), 1);
  EXPECT_EQ(s.status(behind), schemas::JobStatus::kExpired);
  EXPECT_EQ(s.status(head), schemas::JobStatus::kQueued);
}

TEST(DeadlineScanner, TheNextScanIsWhenTheFirstDeadlineIsDue) {
  JobStore s;
  s.submit();
  EXPECT_EQ(next_due(s), base::WallTime()) << "no job has been examined yet";
  EXPECT_EQ(expire(s), 0);
  const auto first = s.clock.wall() + kDay;
  EXPECT_EQ(next_due(s), first);
  s.clock.advance(1min);
  s.submit();
  EXPECT_EQ(next_due(s), first);
}

TEST(DeadlineScanner, TheHeadsAreLookedAtEachHourAlthoughNothingIsDue) {
  JobStore s;
  s.submit();
  expire(s);
  s.clock.advance(kScanInterval - 1ms);
  EXPECT_GT(next_due(s), s.clock.wall());
  s.clock.advance(1ms);
  EXPECT_EQ(next_due(s), base::WallTime());
  EXPECT_EQ(expire(s), 0);
  EXPECT_GT(next_due(s), s.clock.wall());
}

TEST(DeadlineScanner, AClockThatWasSetBackDelaysNoDeadline) {
  JobStore s;
  submit_for(s, "a");
  expire(s);
  s.clock.jump_wall(-12h);
  const auto job = submit_for(s, "b");
  s.clock.advance(kDay - 1ms);
  EXPECT_EQ(expire(s), 0);
  s.clock.advance(1ms);
  EXPECT_EQ(expire(s), 2);
  EXPECT_EQ(s.status(job), schemas::JobStatus::kExpired);
}

TEST(DeadlineScanner, OfAnOlderStoreOnlyTouchedJobsKeepTheirEntries) {
  const support::TempDir dir;
  SqliteDb db({.path = dir.str() + "/older.db"});
  for (const Migration& step : migrations().first(9)) db.script(step.sql);
  db.execute(
      "INSERT INTO jobs (id, tenant, kind, status, priority, rerun, deadline, created_at, model, version) "
      "VALUES (randomblob(16), 't', 0, 0, 0, 0, 86400001, 1, 'm', 1),"
      "       (randomblob(16), 't', 0, 0, 0, 0, 86400001, 1, 'm', 3),"
      "       (randomblob(16), 't', 2, 0, 0, 0, 3600001, 1, 'm', 1),"
      "       (randomblob(16), 't', 0, 5, 0, 0, 86400001, 1, 'm', 3)");
  db.script(migrations()[9].sql);
  auto counted = db.prepare(
      "SELECT count(*) FROM jobs INDEXED BY jobs_deadline WHERE status IN (0, 2) AND parent_id IS NULL AND "
      "(version > 1 OR run_at > 0 OR deadline <> created_at + 86400000)");
  counted.step();
  EXPECT_EQ(counted.integer(0), 2);
}

TEST(DeadlineScanner, QueuesBeyondOneStepAreScannedByTheNextSteps) {
  JobStore s;
  for (int i = 0; i <= kHeadsPerScan; ++i) submit_for(s, "t" + std::to_string(i));
  s.clock.advance(kDay);
  int ended = 0;
  for (int step = 0; step < 3; ++step) ended += expire(s, 2 * kHeadsPerScan);
  EXPECT_EQ(ended, kHeadsPerScan + 1);
}

// Released jobs that were scheduled: touched, with a deadline of their own, at the head of the queue.
void release_many(JobStore& s, int count, const std::string& tenant) {
  const base::Uuid id = base::Uuid::make(s.clock.wall());
  ASSERT_TRUE(write(s.store(), [&](Tx& tx) -> base::Status {
    tx.db
        .prepare(R"(
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
        INSERT INTO jobs (id, tenant, kind, status, priority, rerun, deadline, created_at, model, version)
        SELECT CAST(substr(?2, 1, 8) || randomblob(8) AS BLOB), ?3, ?4, 0, 0, 0, ?5 + 864000000, ?5, 'm', 2
        FROM n)")
        .bind(count, id, tenant, schemas::Kind::kOcr, base::millis(s.clock.wall()))
        .run();
    return {};
  }));
}

struct ScanStep {
  std::vector<base::Uuid> due;
  int instructions = 0;  // of SQLite's virtual machine
};
ScanStep scan(JobStore& s, DeadlineScanner& scanner) {
  ScanStep step;
  EXPECT_TRUE(write(s.store(), [&](Tx& tx) -> base::Status {
    const auto count = [](void* counted) { return static_cast<void>(++*static_cast<int*>(counted)), 0; };
    sqlite3_progress_handler(sqlite_handle(tx.db), 1, count, &step.instructions);
    step.due = scanner.due(tx.db, tx.steady(), tx.boot, 100);
    sqlite3_progress_handler(sqlite_handle(tx.db), 0, nullptr, nullptr);
    return {};
  }));
  return step;
}

constexpr int kReleased = 2 * kJobsPerScan + 100;
constexpr int kInstructionsPerJob = 10;  // a job that is read costs more

TEST(DeadlineScanner, AStepReadsABoundedNumberOfJobsAndTheNextGoesOn) {
  JobStore s;
  release_many(s, kReleased, "a");
  s.clock.advance(1s);
  const auto behind = submit_for(s, "a"), other = submit_for(s, "b");
  s.clock.advance(kDay);
  DeadlineScanner scanner;
  for (int step = 0; step < 2; ++step) {
    const ScanStep part = scan(s, scanner);
    EXPECT_TRUE(part.due.empty());
    EXPECT_GT(part.instructions, kJobsPerScan * kInstructionsPerJob) << "they are counted";
    EXPECT_LT(part.instructions, kJobsPerScan * 50);
    EXPECT_FALSE(scanner.next_scan(s.clock.boot())) << "the scan has not ended";
  }
  EXPECT_EQ(scan(s, scanner).due, (std::vector{behind.uuid, other.uuid}));
}

TEST(DeadlineScanner, ReleasedJobsAreReadOnceAnHourAndNotInEachScan) {
  JobStore s;
  release_many(s, kReleased, "a");
  s.clock.advance(1s);
  submit_for(s, "a");
  s.clock.advance(kDay);
  DeadlineScanner scanner;
  while (scan(s, scanner).due.empty()) {
  }
  for (int i = 0; i < 3; ++i) {
    const ScanStep again = scan(s, scanner);
    EXPECT_EQ(again.due.size(), 1u);
    EXPECT_LT(again.instructions, kJobsPerScan);
  }
  s.clock.advance(kScanInterval);
  EXPECT_GT(scan(s, scanner).instructions, kJobsPerScan * kInstructionsPerJob);
}

// The clock was set back after the scan.
TEST(DeadlineScanner, AJobWithASmallerIdThanThoseThatWereReadIsFound) {
  JobStore s;
  const auto first = s.order();
  s.clock.advance(1h);
  s.submit();
  DeadlineScanner scanner;
  s.clock.advance(kDay);
  EXPECT_EQ(scan(s, scanner).due.size(), 1u);
  EXPECT_EQ(scan(s, scanner).due.size(), 1u);
  s.submit(first);
  s.clock.advance(kDay);
  EXPECT_EQ(scan(s, scanner).due.size(), 2u);
}

}  // namespace
}  // namespace millrace::storage::testing
