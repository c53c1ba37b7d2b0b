#include "workers/worker.h"

#include <gtest/gtest.h>

#include "storage/admin/admin_queries.h"
#include "storage/jobs/job_maintenance.h"
#include "storage/jobs/job_outcomes.h"
#include "storage/workers/workers.h"
#include "storage/writer/lock_file.h"
#include "tests/support/wait_until.h"
#include "tests/unit/workers/worker_fixture.h"

namespace millrace::workers {
namespace {

using schemas::JobStatus;
using std::chrono::milliseconds;

Succeeded good() { return {{.bytes = R"({"ok":true})", .blob = nullptr}}; }

base::Result<schemas::JobView> cancel(WorkerFixture& fixture, const schemas::JobId& job) {
  Answer<schemas::JobView> answer;
  storage::JobIntake(*fixture.store).cancel({"default"}, job, answer.take());
  return answer.wait();
}

// Maintenance in another process declares the worker lost.
int release_leases(WorkerFixture& fixture) {
  Answer<int> released;
  storage::JobMaintenance(*fixture.store)
      .release_worker(fixture.worker->name(), jobs::kLossesMax, released.take());
  return released.wait().value_or(-1);
}

TEST(Worker, ClaimsRunsAndFinishesAJob) {
  WorkerFixture fixture;
  const auto job = fixture.submit();
  const auto held = fixture.script.attempt(0);
  ASSERT_TRUE(held);
  EXPECT_EQ(held->job.lease.job, job);
  EXPECT_EQ(fixture.view(job).status, JobStatus::kRunning);
  fixture.script.end(held, good());
  EXPECT_TRUE(fixture.reaches(job, JobStatus::kSucceeded));
}

// For the store, a lease that no maintenance has expired is still held (rule 2 is about writes that fail).
TEST(Worker, AfterAStandstillTheStoreDecidesWhetherLeasesAreHeld) {
  base::ManualClock clock;
  WorkerFixture fixture({.clock = &clock});
  const auto job = fixture.submit();
  const auto held = fixture.script.attempt(0);
  ASSERT_TRUE(held);
  clock.advance(std::chrono::minutes(10));
  const auto may_start = held->context->start_check();
  ASSERT_TRUE(support::wait_until([&] { return may_start(); })) << "a heartbeat has renewed the lease";
  EXPECT_TRUE(fixture.script.left_alone(held));
  fixture.script.end(held, good());
  EXPECT_TRUE(fixture.reaches(job, JobStatus::kSucceeded));
  EXPECT_EQ(fixture.view(job).attempt, 1);
}

TEST(Worker, AfterAStandstillALeaseThatWasLostStopsItsAttempt) {
  base::ManualClock clock;
  WorkerFixture fixture({.clock = &clock});
  fixture.submit();
  const auto held = fixture.script.attempt(0);
  ASSERT_TRUE(held);
  clock.advance(std::chrono::minutes(10));
  ASSERT_GE(release_leases(fixture), 0);
  EXPECT_TRUE(fixture.script.stopped(held, StopReason::kLost));
}

TEST(Worker, AfterAStandstillAStoreThatDoesNotReplyCostsTheAttempt) {
  base::ManualClock clock;
  WorkerFixture fixture({.clock = &clock});
  fixture.submit();
  const auto held = fixture.script.attempt(0);
  ASSERT_TRUE(held);
  auto lock = storage::LockFile::open(fixture.dir.str() + "/locks/write.lock");
  ASSERT_TRUE(lock && lock->lock(storage::LockFile::Mode::kExclusive));
  clock.advance(std::chrono::minutes(10));
  EXPECT_TRUE(support::wait_until([&] {
    clock.advance(milliseconds(100));
    return !fixture.script.left_alone(held);
  }));
  lock->unlock();
  EXPECT_TRUE(fixture.script.stopped(held, StopReason::kLost));
}

TEST(Worker, RunsNoMoreAttemptsThanItHasSlots) {
  WorkerFixture fixture({.slots = 2});
  for (int i = 0; i < 5; ++i) fixture.submit();
  ASSERT_TRUE(fixture.script.attempt(1));
  fixture.script.end(fixture.script.attempt(0), good());
  ASSERT_TRUE(fixture.script.attempt(2));
  const auto depths = storage::JobQueries(*fixture.store).depths();
  ASSERT_TRUE(depths);
  EXPECT_EQ(fixture.script.started(), 3U);
  EXPECT_EQ(depths->front().running, 2);
  EXPECT_EQ(depths->front().queued, 2);
}

TEST(Worker, BeyondItsSlotsItRunsAJobOfATenantThatRunsNone) {
  WorkerFixture fixture({.slots = 2, .reserved_slots = 1});
  for (int i = 0; i < 5; ++i) fixture.submit("a");
  ASSERT_TRUE(fixture.script.attempt(1));
  const auto of_b = fixture.submit("b");
  const auto held = fixture.script.attempt(2);
  ASSERT_TRUE(held);
  EXPECT_EQ(held->job.lease.job, of_b);
  fixture.submit("c");  // no reserved slot is left
  fixture.script.end(held, good());
  const auto next = fixture.script.attempt(3);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->job.tenant, "c");
  fixture.script.end(fixture.script.attempt(0), good());
  fixture.script.end(fixture.script.attempt(1), good());
  const auto after = fixture.script.attempt(4);  // it has an ordinary slot now, and the reserved one is free
  ASSERT_TRUE(after);
  EXPECT_EQ(after->job.tenant, "a");
}

TEST(Worker, AJobInAReservedSlotTakesTheSlotThatIsFreedFirst) {
  WorkerFixture fixture({.slots = 2, .reserved_slots = 1});
  for (int i = 0; i < 5; ++i) fixture.submit("a");
  ASSERT_TRUE(fixture.script.attempt(1));
  fixture.submit("b");
  ASSERT_TRUE(fixture.script.attempt(2));
  fixture.script.end(fixture.script.attempt(0), good());
  fixture.submit("c");  // the reserved slot is free again
  const auto next = fixture.script.attempt(3);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->job.tenant, "c");
}

TEST(Worker, FindsJobsOfTheStoreWithoutTokens) {
  WorkerFixture fixture({.with_worker = false});
  const auto job = fixture.submit();  // no subscriber: its token is lost
  fixture.worker = fixture.make_worker(fixture.script);
  const auto held = fixture.script.attempt(0);
  ASSERT_TRUE(held);
  EXPECT_EQ(held->job.lease.job, job);
  fixture.script.end(held, good());
  EXPECT_TRUE(fixture.reaches(job, JobStatus::kSucceeded));
}

TEST(Worker, DrainsABacklogThroughAFewSlots) {
  WorkerFixture fixture({.slots = 4});
  fixture.script.instant = true;
  std::vector<schemas::JobId> jobs;
  for (int i = 0; i < 200; ++i) jobs.push_back(fixture.submit("tenant-" + std::to_string(i % 3)));
  for (int i = 0; i < 200; ++i) {
    EXPECT_TRUE(fixture.reaches(jobs[static_cast<std::size_t>(i)], JobStatus::kSucceeded,
                                "tenant-" + std::to_string(i % 3)));
  }
  EXPECT_EQ(fixture.script.started(), 200U);
}

TEST(Worker, CancelsARunningJobWithinAHeartbeat) {
  WorkerFixture fixture;
  const auto job = fixture.submit();
  const auto held = fixture.script.attempt(0);
  ASSERT_TRUE(held);
  ASSERT_TRUE(cancel(fixture, job));
  EXPECT_TRUE(fixture.script.stopped(held, StopReason::kCancel));
  EXPECT_TRUE(fixture.reaches(job, JobStatus::kCancelled));
}

TEST(Worker, DrainingItFinishesItsJobsClaimsNothingAndStays) {
  WorkerFixture fixture({.slots = 2});
  const auto job = fixture.submit();
  const auto held = fixture.script.attempt(0);
  ASSERT_TRUE(held);
  Answer<bool> told;
  storage::WorkerDrains(*fixture.store).drain(fixture.worker->name(), told.take());
  ASSERT_TRUE(told.wait());
  const auto slots_seen = [&] { return storage::AdminQueries(*fixture.store).workers().value().at(0); };
  ASSERT_TRUE(support::wait_until([&] { return slots_seen().slots.at(0).slots == 1; }));
  const auto later = fixture.submit();
  EXPECT_TRUE(fixture.script.left_alone(held));
  fixture.script.end(held, good());
  ASSERT_TRUE(fixture.reaches(job, JobStatus::kSucceeded));
  ASSERT_TRUE(support::wait_until([&] { return slots_seen().slots.at(0).used == 0; }));
  EXPECT_TRUE(slots_seen().draining);
  EXPECT_EQ(fixture.view(later).status, JobStatus::kQueued);
  EXPECT_TRUE(fixture.worker->drain(std::chrono::seconds(10)));
}

TEST(Worker, DropsTheResultOfALostLease) {
  WorkerFixture fixture;
  fixture.script.obeys = false;
  const auto job = fixture.submit();
  const auto zombie = fixture.script.attempt(0);
  ASSERT_TRUE(zombie);
  EXPECT_EQ(release_leases(fixture), 1);
  const auto heir = fixture.script.attempt(1);
  ASSERT_TRUE(heir);
  EXPECT_EQ(heir->job.lease.job, job);
  EXPECT_EQ(heir->job.losses, 1);
  ASSERT_TRUE(fixture.script.stopped(zombie, StopReason::kLost));
  EXPECT_TRUE(fixture.script.left_alone(heir)) << "the worker must keep its later lease";
  fixture.script.end(zombie, Succeeded{{.bytes = R"({"by":"zombie"})", .blob = nullptr}});
  fixture.script.end(heir, Succeeded{{.bytes = R"({"by":"heir"})", .blob = nullptr}});
  ASSERT_TRUE(fixture.reaches(job, JobStatus::kSucceeded));
  EXPECT_EQ(storage::JobQueries(*fixture.store).result("default", job)->payload->bytes, R"({"by":"heir"})");
}

TEST(Worker, AWriteOfALostLeaseIsRefused) {
  WorkerFixture fixture;
  fixture.script.obeys = false;
  fixture.submit();
  const auto zombie = fixture.script.attempt(0);
  ASSERT_TRUE(zombie);
  release_leases(fixture);
  Answer<bool> held;
  zombie->context->weak_loop().post([&] {
    zombie->context->write_parts({{.index = 0, .payload = {"{}", nullptr}}}, {},
                                 [done = held.take()](bool ok) { done(ok); });
  });
  EXPECT_EQ(held.wait().value_or(true), false);
  fixture.script.end(zombie, Abandoned{});
}

TEST(Worker, ThreeCrashesMakeAJobPoison) {
  WorkerFixture fixture({.with_maintenance = true});
  const auto job = fixture.submit();
  for (std::size_t n = 0; n < 3; ++n) {
    const auto held = fixture.script.attempt(n);
    ASSERT_TRUE(held);
    EXPECT_EQ(held->job.crashes, static_cast<int>(n));
    fixture.script.end(held, Retry{base::error(base::Code::kInternal, "signal 11"), true});
  }
  ASSERT_TRUE(fixture.reaches(job, JobStatus::kFailed));
  EXPECT_EQ(fixture.view(job).error->code, base::Code::kPoisonJob);
}

TEST(Worker, ATransientErrorIsTriedAgainUntilItsAttemptsAreUsed) {
  WorkerFixture fixture({.with_maintenance = true});
  const auto job = fixture.submit();
  const int attempts = jobs::policy(schemas::Kind::kOcr).attempts_max;
  for (int n = 0; n < attempts; ++n) {
    const auto held = fixture.script.attempt(static_cast<std::size_t>(n));
    ASSERT_TRUE(held);
    fixture.script.end(held, Retry{base::error(base::Code::kUpstream, "502")});
  }
  ASSERT_TRUE(fixture.reaches(job, JobStatus::kFailed));
  EXPECT_EQ(fixture.view(job).error->code, base::Code::kUpstream);
  EXPECT_EQ(fixture.script.started(), static_cast<std::size_t>(attempts));
}

TEST(Worker, AFailureIsFinal) {
  WorkerFixture fixture;
  const auto job = fixture.submit();
  fixture.script.end(fixture.script.attempt(0), Fail{base::error(base::Code::kDocumentDamaged, "torn"), {}});
  ASSERT_TRUE(fixture.reaches(job, JobStatus::kFailed));
  EXPECT_EQ(fixture.view(job).error->message, "torn");
}

TEST(Worker, AParentRunsAgainWhenItsLastChildEnds) {
  WorkerFixture fixture({.slots = 1});
  const auto job = fixture.submit();
  Split split;
  for (int i = 0; i < 3; ++i) {
    split.children.push_back({R"({"n":1})", {schemas::Kind::kOcr, base::Uuid::make(fixture.clock->wall())}});
  }
  split.progress_total = 3;
  fixture.script.end(fixture.script.attempt(0), split);
  for (std::size_t n = 1; n <= 3; ++n) {
    const auto child = fixture.script.attempt(n);
    ASSERT_TRUE(child);
    EXPECT_EQ(child->job.parent, job);
    fixture.script.end(child, Succeeded{});
  }
  const auto merge = fixture.script.attempt(4);
  ASSERT_TRUE(merge);
  EXPECT_TRUE(merge->job.children_done);
  fixture.script.end(merge, good());
  EXPECT_TRUE(fixture.reaches(job, JobStatus::kSucceeded));
}

TEST(Worker, ASplitOfAChildFailsTheChildInsteadOfHangingIt) {
  WorkerFixture fixture({.slots = 1});
  const auto job = fixture.submit();
  const auto split = [&] {
    return Split{{{"{}", {schemas::Kind::kOcr, base::Uuid::make(fixture.clock->wall())}}}, 1};
  };
  fixture.script.end(fixture.script.attempt(0), split());
  fixture.script.end(fixture.script.attempt(1), split());
  const auto merge = fixture.script.attempt(2);
  ASSERT_TRUE(merge);
  const auto children = storage::JobQueries(*fixture.store).children(job);
  ASSERT_TRUE(children && children->size() == 1);
  EXPECT_EQ(children->front().status, JobStatus::kFailed);
  fixture.script.end(merge, good());
}

TEST(Worker, ADrainGivesRunningJobsBackWithoutCost) {
  WorkerFixture fixture({.drain_grace = milliseconds(50)});
  const auto job = fixture.submit();
  ASSERT_TRUE(fixture.script.attempt(0));
  EXPECT_TRUE(fixture.worker->drain(milliseconds(5'000)));
  EXPECT_EQ(fixture.view(job).status, JobStatus::kQueued);
  fixture.worker.reset();
  fixture.worker = fixture.make_worker(fixture.script);
  const auto again = fixture.script.attempt(1);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->job.losses, 0);
  EXPECT_EQ(again->job.crashes, 0);
}

TEST(Worker, ADrainLetsAnAttemptEndInItsGrace) {
  WorkerFixture fixture({.drain_grace = milliseconds(5'000)});
  const auto job = fixture.submit();
  const auto held = fixture.script.attempt(0);
  ASSERT_TRUE(held);
  std::jthread drain([&] { EXPECT_TRUE(fixture.worker->drain(milliseconds(10'000))); });
  fixture.script.end(held, good());
  drain.join();
  EXPECT_EQ(fixture.view(job).status, JobStatus::kSucceeded);
  EXPECT_TRUE(held->stops.empty());
}

TEST(Worker, ADrainedWorkerClaimsNothing) {
  WorkerFixture fixture;
  ASSERT_TRUE(fixture.worker->drain(milliseconds(5'000)));
  const auto job = fixture.submit();
  EXPECT_FALSE(support::wait_until([&] { return fixture.script.started() > 0; }, milliseconds(300)));
  EXPECT_EQ(fixture.view(job).status, JobStatus::kQueued);
}

TEST(Worker, AWorkerThatStoppedClaimingLetsWhatRunsEnd) {
  WorkerFixture fixture({.slots = 1, .drain_grace = milliseconds(5'000)});
  const auto first = fixture.submit();
  const auto held = fixture.script.attempt(0);
  ASSERT_TRUE(held);
  const auto second = fixture.submit();
  ASSERT_TRUE(fixture.worker->stop_claiming(milliseconds(5'000)));
  EXPECT_TRUE(fixture.script.left_alone(held));
  fixture.script.end(held, good());
  EXPECT_TRUE(fixture.reaches(first, JobStatus::kSucceeded));
  EXPECT_TRUE(fixture.worker->drain(milliseconds(5'000)));
  EXPECT_EQ(fixture.view(second).status, JobStatus::kQueued);
  EXPECT_EQ(fixture.view(second).attempt, 0);
}

TEST(Worker, AnIdleWorkerWritesNothingButItsHeartbeats) {
  WorkerFixture fixture({.lease = {milliseconds(60'000), milliseconds(240'000), milliseconds(60'000)}});
  fixture.script.instant = true;
  const auto job = fixture.submit();
  ASSERT_TRUE(fixture.reaches(job, JobStatus::kSucceeded));
  const auto settled = [&] {  // true after several polls for work
    const auto operations = fixture.store->stats().operations_total;
    return support::wait_until([&] { return fixture.store->stats().operations_total >= operations + 5; });
  };
  ASSERT_TRUE(settled());
  const auto written = fixture.store->stats().wal_bytes;
  ASSERT_TRUE(settled());
  EXPECT_EQ(fixture.store->stats().wal_bytes, written);
}

TEST(Worker, ANameInUseIsRefused) {
  WorkerFixture fixture({.worker_name = "ocr-a"});
  Worker::Options options;
  options.data_dir = fixture.dir.str();
  options.name = "ocr-a";
  auto second = Worker::make(options, fixture.dependencies());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, base::Code::kInvalidState);
  EXPECT_NE(second.error().message.find("worker.name"), std::string::npos);
}

TEST(Worker, UnnamedWorkersTakeTheFirstFreeName) {
  WorkerFixture fixture;
  Worker::Options options;
  options.data_dir = fixture.dir.str();
  auto second = Worker::make(options, fixture.dependencies());
  ASSERT_TRUE(second);
  EXPECT_NE((*second)->name(), fixture.worker->name());
  EXPECT_TRUE((*second)->name().ends_with("-2"));
}

}  // namespace
}  // namespace millrace::workers
