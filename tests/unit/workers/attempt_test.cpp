#include "workers/jobs/attempt.h"

#include <gtest/gtest.h>

#include "storage/jobs/job_intake.h"
#include "storage/writer/lock_file.h"
#include "tests/unit/storage/page_limit.h"
#include "tests/unit/workers/worker_fixture.h"

namespace millrace::workers {
namespace {

using schemas::JobStatus;
using std::chrono::milliseconds;

// One claimed job and the loop that its attempt runs on.
class OneAttempt {
 public:
  explicit OneAttempt(WorkerFixture& fixture, schemas::Rerun rerun = schemas::Rerun::kAtLeastOnce)
      : fixture_(fixture),
        worker_context_{*fixture.store,
                        fixture.pool,
                        loop_,
                        WeakLoop(loop_),
                        *fixture.clock,
                        jobs::LeasePolicy{},
                        WorkerMetrics(fixture.metrics)},
        runner_(fixture.script) {
    storage::Submission wanted;
    wanted.id = {schemas::Kind::kOcr, base::Uuid::make(fixture.clock->wall())};
    wanted.tenant = "default";
    wanted.model = "m";
    wanted.spec = "{}";
    wanted.rerun = rerun;
    job = wanted.id;
    Answer<storage::Submitted> submitted;
    storage::JobIntake(*fixture.store).submit(std::move(wanted), submitted.take());
    EXPECT_TRUE(submitted.wait());
    Answer<std::vector<storage::ClaimedJob>> claimed;
    storage::JobClaims(*fixture.store).claim({.kind = schemas::Kind::kOcr, .worker = "w"}, claimed.take());
    claimed_ = claimed.wait()->at(0);
    attempt_ = std::make_shared<Attempt>(worker_context_, claimed_, [this](Attempt&) { gone_.take()(true); });
  }
  ~OneAttempt() {
    loop_.stop();
    worker_context_.weak_loop.close();
  }
  void start() {
    loop_.post([this] { attempt_->start(runner_); });
  }
  // Runs `f` on the loop and waits for it.
  void tell(std::function<void(Attempt&)> f) {
    Answer<bool> told;
    loop_.post([this, f = std::move(f), done = told.take()] {
      f(*attempt_);
      done(true);
    });
    EXPECT_TRUE(told.wait());
  }
  bool gone() { return gone_.wait().value_or(false); }

  schemas::JobId job;

 private:
  WorkerFixture& fixture_;
  net::Loop loop_{"work"};
  WorkerContext worker_context_;
  ScriptedRunner runner_;
  storage::ClaimedJob claimed_;
  Answer<bool> gone_;
  std::shared_ptr<Attempt> attempt_;
};

TEST(Delivery, Rule02_AnAttemptStartsNothingOnceItsLeaseMayBeNearlyOver) {
  base::ManualClock clock;
  WorkerFixture fixture({.clock = &clock, .with_worker = false});
  OneAttempt one(fixture);
  clock.advance(jobs::LeasePolicy{}.usable());
  one.start();
  ASSERT_TRUE(one.gone());
  EXPECT_EQ(fixture.script.started(), 0U);
  EXPECT_EQ(fixture.view(one.job).status, JobStatus::kQueued);
}

TEST(Delivery, Rule02_AnAttemptStartsInTheLastMomentThatItsLeaseAllows) {
  base::ManualClock clock;
  WorkerFixture fixture({.clock = &clock, .with_worker = false});
  OneAttempt one(fixture);
  clock.advance(jobs::LeasePolicy{}.usable() - milliseconds(1));
  one.start();
  const auto held = fixture.script.attempt(0);
  ASSERT_TRUE(held);
  fixture.script.end(held, Succeeded{});
  EXPECT_TRUE(one.gone());
}

TEST(Delivery, Rule02_WhatRunsIsKilledOnceNoHeartbeatHasSucceededForTooLong) {
  base::ManualClock clock;
  WorkerFixture fixture({.clock = &clock, .with_worker = false});
  OneAttempt one(fixture);
  one.start();
  const auto held = fixture.script.attempt(0);
  ASSERT_TRUE(held);
  clock.advance(milliseconds(10'000));
  one.tell([&](Attempt& a) { a.on_lease_renewed(clock.boot()); });
  clock.advance(milliseconds(10'000));
  one.tell([](Attempt& a) { a.check_lease(); });
  one.tell([&](Attempt& a) { EXPECT_TRUE(a.may_start()); });
  clock.advance(milliseconds(5'000));
  one.tell([](Attempt& a) { a.check_lease(); });
  EXPECT_TRUE(fixture.script.stopped(held, StopReason::kLost));
  ASSERT_TRUE(one.gone());
  EXPECT_EQ(fixture.view(one.job).status, JobStatus::kQueued);
}

TEST(Attempt, AnAtMostOnceJobIsNeverGivenBack) {
  WorkerFixture fixture({.with_worker = false});
  OneAttempt one(fixture, schemas::Rerun::kAtMostOnce);
  one.start();
  ASSERT_TRUE(fixture.script.attempt(0));
  one.tell([](Attempt& a) { a.drain(); });
  ASSERT_TRUE(one.gone());
  EXPECT_EQ(fixture.view(one.job).status, JobStatus::kFailed);
  EXPECT_EQ(fixture.view(one.job).error->code, base::Code::kWorkerLost);
}

bool limit_growth(WorkerFixture& fixture, std::int64_t pages) {
  Answer<bool> set;
  fixture.store->writer().submit(
      storage::Writer::Priority::kUrgent, 0, [pages](storage::Tx& tx) { return set_page_limit(tx, pages); },
      [done = set.take()](const base::Status& status) { done(status.has_value()); });
  return set.wait().value_or(false);
}

TEST(Attempt, AFinishThatMeetsAFullDiskIsRetriedUntilThereIsSpace) {
  WorkerFixture fixture({.with_worker = false});
  OneAttempt one(fixture);
  one.start();
  const auto held = fixture.script.attempt(0);
  ASSERT_TRUE(held);
  ASSERT_TRUE(limit_growth(fixture, 0));
  const std::string several_pages(storage::kInlineMax - 100, 'x');
  fixture.script.end(held, Succeeded{{.bytes = several_pages, .blob = nullptr}});
  ASSERT_TRUE(support::wait_until([&] { return fixture.store->stats().failed_groups_total >= 2; }));
  EXPECT_EQ(fixture.view(one.job).status, JobStatus::kRunning);
  ASSERT_TRUE(limit_growth(fixture, 1'000));
  ASSERT_TRUE(one.gone());
  EXPECT_EQ(fixture.view(one.job).status, JobStatus::kSucceeded);
  EXPECT_EQ(fixture.result_text(one.job), several_pages);
  const auto types = fixture.event_types(one.job);
  EXPECT_EQ(std::count(types.begin(), types.end(), "succeeded"), 1);
}

TEST(Attempt, AFinishWaitsForALockThatAnotherProcessHolds) {
  WorkerFixture fixture({.stuck_lock_after = milliseconds(50), .with_worker = false});
  OneAttempt one(fixture);
  one.start();
  const auto held = fixture.script.attempt(0);
  ASSERT_TRUE(held);
  auto lock = storage::LockFile::open(fixture.dir.str() + "/locks/write.lock");
  ASSERT_TRUE(lock && lock->lock(storage::LockFile::Mode::kExclusive));
  fixture.script.end(held, Succeeded{{.bytes = R"({"kept":true})", .blob = nullptr}});
  ASSERT_TRUE(support::wait_until([&] { return !fixture.store->health().store_ok; }));
  lock->unlock();
  ASSERT_TRUE(one.gone());
  EXPECT_EQ(fixture.view(one.job).status, JobStatus::kSucceeded);
}

}  // namespace
}  // namespace millrace::workers
