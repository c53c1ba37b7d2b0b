#include "workers/worker.h"

#include <gtest/gtest.h>

#include "storage/admin/admin_queries.h"
#include "storage/jobs/job_maintenance.h"
#include "storage/jobs/job_outcomes.h"
#include "storage/jobs/workers.h"
#include "tests/support/wait_until.h"
#include "tests/unit/workers/house.h"

namespace millrace::workers {
namespace {

using schemas::JobStatus;
using std::chrono::milliseconds;

Done good() { return {{.bytes = R"({"ok":true})", .blob = nullptr}}; }

base::Result<schemas::JobView> cancel(House& house, const schemas::JobId& job) {
  Answer<schemas::JobView> answer;
  jobs::Control(*house.store, *house.clock).cancel({"default"}, job, answer.take());
  return answer.wait();
}

// Another process's upkeep takes the worker for dead.
int release_leases(House& house) {
  Answer<int> released;
  storage::JobMaintenance(*house.store)
      .release_worker(house.worker->name(), jobs::kLossesMax, released.take());
  return released.wait().value_or(-1);
}

TEST(Worker, ClaimsRunsAndFinishesAJob) {
  House house;
  const auto job = house.submit();
  const auto held = house.script.attempt(0);
  ASSERT_TRUE(held);
  EXPECT_EQ(held->job.lease.job, job);
  EXPECT_EQ(house.view(job).status, JobStatus::kRunning);
  house.script.end(held, good());
  EXPECT_TRUE(house.reaches(job, JobStatus::kSucceeded));
}

TEST(Worker, RunsNoMoreAttemptsThanItHasSlots) {
  House house({.slots = 2});
  for (int i = 0; i < 5; ++i) house.submit();
  ASSERT_TRUE(house.script.attempt(1));
  house.script.end(house.script.attempt(0), good());
  ASSERT_TRUE(house.script.attempt(2));
  const auto depths = storage::JobQueries(*house.store).depths();
  ASSERT_TRUE(depths);
  EXPECT_EQ(house.script.started(), 3U);
  EXPECT_EQ(depths->front().running, 2);
  EXPECT_EQ(depths->front().queued, 2);
}

TEST(Worker, FindsJobsOfTheStoreWithoutTokens) {
  House house({.with_worker = false});
  const auto job = house.submit();  // nobody subscribed: its token is gone
  house.worker = house.make_worker(house.script);
  const auto held = house.script.attempt(0);
  ASSERT_TRUE(held);
  EXPECT_EQ(held->job.lease.job, job);
  house.script.end(held, good());
  EXPECT_TRUE(house.reaches(job, JobStatus::kSucceeded));
}

TEST(Worker, DrainsABacklogThroughAFewSlots) {
  House house({.slots = 4});
  house.script.instant = true;
  std::vector<schemas::JobId> jobs;
  for (int i = 0; i < 200; ++i) jobs.push_back(house.submit("tenant-" + std::to_string(i % 3)));
  for (int i = 0; i < 200; ++i) {
    EXPECT_TRUE(house.reaches(jobs[static_cast<std::size_t>(i)], JobStatus::kSucceeded,
                              "tenant-" + std::to_string(i % 3)));
  }
  EXPECT_EQ(house.script.started(), 200U);
}

TEST(Worker, TellsARunningJobOfItsCancelWithinAHeartbeat) {
  House house;
  const auto job = house.submit();
  const auto held = house.script.attempt(0);
  ASSERT_TRUE(held);
  ASSERT_TRUE(cancel(house, job));
  EXPECT_TRUE(house.script.stopped(held, Stop::kCancel));
  EXPECT_TRUE(house.reaches(job, JobStatus::kCancelled));
}

TEST(Worker, ToldToDrainItFinishesWhatItRunsTakesNothingNewAndIsStillThere) {
  House house({.slots = 2});
  const auto job = house.submit();
  const auto held = house.script.attempt(0);
  ASSERT_TRUE(held);
  Answer<bool> told;
  storage::WorkerDrains(*house.store).drain(house.worker->name(), told.take());
  ASSERT_TRUE(told.wait());
  const auto slots_seen = [&] { return storage::AdminQueries(*house.store).workers().value().at(0); };
  ASSERT_TRUE(support::wait_until([&] { return slots_seen().slots.at(0).slots == 1; }));
  const auto later = house.submit();
  EXPECT_TRUE(house.script.left_alone(held));
  house.script.end(held, good());
  ASSERT_TRUE(house.reaches(job, JobStatus::kSucceeded));
  ASSERT_TRUE(support::wait_until([&] { return slots_seen().slots.at(0).used == 0; }));
  EXPECT_TRUE(slots_seen().draining);
  EXPECT_EQ(house.view(later).status, JobStatus::kQueued);
  EXPECT_TRUE(house.worker->drain(std::chrono::seconds(10)));
}

TEST(Worker, DropsTheResultOfALostLease) {
  House house;
  house.script.obeys = false;
  const auto job = house.submit();
  const auto zombie = house.script.attempt(0);
  ASSERT_TRUE(zombie);
  EXPECT_EQ(release_leases(house), 1);
  const auto heir = house.script.attempt(1);
  ASSERT_TRUE(heir);
  EXPECT_EQ(heir->job.lease.job, job);
  EXPECT_EQ(heir->job.losses, 1);
  ASSERT_TRUE(house.script.stopped(zombie, Stop::kLost));
  EXPECT_TRUE(house.script.left_alone(heir)) << "the later lease of the same worker is not lost";
  house.script.end(zombie, Done{{.bytes = R"({"by":"zombie"})", .blob = nullptr}});
  house.script.end(heir, Done{{.bytes = R"({"by":"heir"})", .blob = nullptr}});
  ASSERT_TRUE(house.reaches(job, JobStatus::kSucceeded));
  EXPECT_EQ(storage::JobQueries(*house.store).result("default", job)->payload->bytes, R"({"by":"heir"})");
}

TEST(Worker, AWriteOfALostLeaseIsRefused) {
  House house;
  house.script.obeys = false;
  house.submit();
  const auto zombie = house.script.attempt(0);
  ASSERT_TRUE(zombie);
  release_leases(house);
  Answer<bool> held;
  zombie->context->link().post([&] {
    zombie->context->write_parts({{.index = 0, .payload = {"{}", nullptr}}},
                                 [done = held.take()](bool ok) { done(ok); });
  });
  EXPECT_EQ(held.wait().value_or(true), false);
  house.script.end(zombie, Lost{});
}

TEST(Worker, ThreeCrashesMakeAJobPoison) {
  House house({.with_upkeep = true});
  const auto job = house.submit();
  for (std::size_t n = 0; n < 3; ++n) {
    const auto held = house.script.attempt(n);
    ASSERT_TRUE(held);
    EXPECT_EQ(held->job.crashes, static_cast<int>(n));
    house.script.end(held, Retry{base::error(base::Code::kInternal, "signal 11"), true});
  }
  ASSERT_TRUE(house.reaches(job, JobStatus::kFailed));
  EXPECT_EQ(house.view(job).error->code, base::Code::kPoisonJob);
}

TEST(Worker, ATransientErrorIsTriedAgainUntilItsAttemptsAreUsed) {
  House house({.with_upkeep = true});
  const auto job = house.submit();
  const int attempts = jobs::policy(schemas::Kind::kOcr).attempts_max;
  for (int n = 0; n < attempts; ++n) {
    const auto held = house.script.attempt(static_cast<std::size_t>(n));
    ASSERT_TRUE(held);
    house.script.end(held, Retry{base::error(base::Code::kUpstream, "502")});
  }
  ASSERT_TRUE(house.reaches(job, JobStatus::kFailed));
  EXPECT_EQ(house.view(job).error->code, base::Code::kUpstream);
  EXPECT_EQ(house.script.started(), static_cast<std::size_t>(attempts));
}

TEST(Worker, AFailureIsFinal) {
  House house;
  const auto job = house.submit();
  house.script.end(house.script.attempt(0), Fail{base::error(base::Code::kDocumentDamaged, "torn"), {}});
  ASSERT_TRUE(house.reaches(job, JobStatus::kFailed));
  EXPECT_EQ(house.view(job).error->message, "torn");
}

TEST(Worker, AParentRunsAgainWhenItsLastChildEnds) {
  House house({.slots = 1});
  const auto job = house.submit();
  Split split;
  for (int i = 0; i < 3; ++i) {
    split.children.push_back({R"({"n":1})", {schemas::Kind::kOcr, base::Uuid::make(house.clock->wall())}});
  }
  split.progress_total = 3;
  house.script.end(house.script.attempt(0), split);
  for (std::size_t n = 1; n <= 3; ++n) {
    const auto child = house.script.attempt(n);
    ASSERT_TRUE(child);
    EXPECT_EQ(child->job.parent, job);
    house.script.end(child, Done{});
  }
  const auto merge = house.script.attempt(4);
  ASSERT_TRUE(merge);
  EXPECT_TRUE(merge->job.children_done);
  house.script.end(merge, good());
  EXPECT_TRUE(house.reaches(job, JobStatus::kSucceeded));
}

TEST(Worker, ASplitOfAChildFailsTheChildInsteadOfHangingIt) {
  House house({.slots = 1});
  const auto job = house.submit();
  const auto split = [&] {
    return Split{{{"{}", {schemas::Kind::kOcr, base::Uuid::make(house.clock->wall())}}}, 1};
  };
  house.script.end(house.script.attempt(0), split());
  house.script.end(house.script.attempt(1), split());
  const auto merge = house.script.attempt(2);
  ASSERT_TRUE(merge);
  const auto children = storage::JobQueries(*house.store).children(job);
  ASSERT_TRUE(children && children->size() == 1);
  EXPECT_EQ(children->front().status, JobStatus::kFailed);
  house.script.end(merge, good());
}

TEST(Worker, ADrainGivesRunningJobsBackWithoutCost) {
  House house({.drain_grace = milliseconds(50)});
  const auto job = house.submit();
  ASSERT_TRUE(house.script.attempt(0));
  EXPECT_TRUE(house.worker->drain(milliseconds(5'000)));
  EXPECT_EQ(house.view(job).status, JobStatus::kQueued);
  house.worker.reset();
  house.worker = house.make_worker(house.script);
  const auto again = house.script.attempt(1);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->job.losses, 0);
  EXPECT_EQ(again->job.crashes, 0);
}

TEST(Worker, ADrainLetsAnAttemptEndInItsGrace) {
  House house({.drain_grace = milliseconds(5'000)});
  const auto job = house.submit();
  const auto held = house.script.attempt(0);
  ASSERT_TRUE(held);
  std::jthread drain([&] { EXPECT_TRUE(house.worker->drain(milliseconds(10'000))); });
  house.script.end(held, good());
  drain.join();
  EXPECT_EQ(house.view(job).status, JobStatus::kSucceeded);
  EXPECT_TRUE(held->stops.empty());
}

TEST(Worker, ADrainedWorkerClaimsNothing) {
  House house;
  ASSERT_TRUE(house.worker->drain(milliseconds(5'000)));
  const auto job = house.submit();
  EXPECT_FALSE(support::wait_until([&] { return house.script.started() > 0; }, milliseconds(300)));
  EXPECT_EQ(house.view(job).status, JobStatus::kQueued);
}

TEST(Worker, AWorkerThatStoppedClaimingLetsWhatRunsEnd) {
  House house({.slots = 1, .drain_grace = milliseconds(5'000)});
  const auto first = house.submit();
  const auto held = house.script.attempt(0);
  ASSERT_TRUE(held);
  const auto second = house.submit();
  ASSERT_TRUE(house.worker->stop_claiming(milliseconds(5'000)));
  EXPECT_TRUE(house.script.left_alone(held));
  house.script.end(held, good());
  EXPECT_TRUE(house.reaches(first, JobStatus::kSucceeded));
  EXPECT_TRUE(house.worker->drain(milliseconds(5'000)));
  EXPECT_EQ(house.view(second).status, JobStatus::kQueued);
  EXPECT_EQ(house.view(second).attempt, 0);
}

TEST(Worker, AnIdleWorkerWritesNothingButItsHeartbeats) {
  House house({.lease = {milliseconds(60'000), milliseconds(240'000), milliseconds(60'000)}});
  house.script.instant = true;
  const auto job = house.submit();
  ASSERT_TRUE(house.reaches(job, JobStatus::kSucceeded));
  const auto settled = [&] {  // several looks for work later
    const auto operations = house.store->stats().operations_total;
    return support::wait_until([&] { return house.store->stats().operations_total >= operations + 5; });
  };
  ASSERT_TRUE(settled());
  const auto written = house.store->stats().wal_bytes;
  ASSERT_TRUE(settled());
  EXPECT_EQ(house.store->stats().wal_bytes, written);
}

TEST(Worker, ANameInUseIsRefused) {
  House house({.worker_name = "ocr-a"});
  Worker::Options options;
  options.data_dir = house.dir.str();
  options.name = "ocr-a";
  auto second = Worker::make(options, house.ground());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, base::Code::kInvalidState);
  EXPECT_NE(second.error().message.find("worker.name"), std::string::npos);
}

TEST(Worker, UnnamedWorkersTakeTheFirstFreeName) {
  House house;
  Worker::Options options;
  options.data_dir = house.dir.str();
  auto second = Worker::make(options, house.ground());
  ASSERT_TRUE(second);
  EXPECT_NE((*second)->name(), house.worker->name());
  EXPECT_TRUE((*second)->name().ends_with("-2"));
}

}  // namespace
}  // namespace millrace::workers
