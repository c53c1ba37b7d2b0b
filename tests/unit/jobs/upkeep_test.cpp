#include "jobs/upkeep.h"

#include <gtest/gtest.h>

#include "jobs/policy.h"
#include "storage/job_outcomes.h"
#include "tests/unit/jobs/core.h"

namespace millrace::jobs {
namespace {

using schemas::JobStatus;
using std::chrono::milliseconds;

TEST(Upkeep, SleepsLongWhileNoJobIsOpen) {
  Core core;
  EXPECT_EQ(core.tick(), Upkeep::Options{}.idle_period);
  core.submit();
  EXPECT_EQ(core.tick(), Upkeep::Options{}.busy_period);
}

TEST(Upkeep, ReleasesARetryWhenItIsDue) {
  base::ManualClock clock;
  Core core(&clock);
  const auto job = core.submit();
  support::Answer<storage::Applied> retried;
  storage::RetryPlan plan;
  plan.delay = milliseconds(300);
  storage::JobOutcomes(*core.store).retry(core.claim().at(0).lease, plan, retried.take());
  ASSERT_TRUE(retried.wait());
  EXPECT_EQ(core.tick(), milliseconds(300));
  EXPECT_TRUE(core.claim().empty());
  clock.advance(milliseconds(300));
  core.tick();
  EXPECT_EQ(core.claim().size(), 1U);
  EXPECT_EQ(core.view(job).attempt, 2);
}

TEST(Upkeep, ALeaseThatEndedIsALossAndTheJobRunsAgain) {
  base::ManualClock clock;
  Core core(&clock);
  core.submit();
  core.claim();
  for (int i = 0; i < 5; ++i) {  // in steps, so that no gap of commits makes it wait
    clock.advance(milliseconds(5'000));
    core.tick();
  }
  const auto again = core.claim();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].losses, 1);
  EXPECT_EQ(again[0].crashes, 0);
}

TEST(Upkeep, AJobPastItsDeadlineExpires) {
  base::ManualClock clock;
  Core core(&clock);
  const auto job = core.submit();
  clock.advance(policy(schemas::Kind::kOcr).deadline);
  core.tick();
  EXPECT_EQ(core.view(job).status, JobStatus::kExpired);
}

TEST(Upkeep, AStepThatThrowsEndsItsRoundAndTheNextOneRuns) {
  base::ManualClock clock;
  KeptDispatch dispatch;
  Core core(&clock, &dispatch);
  const auto job = core.submit();
  clock.advance(policy(schemas::Kind::kOcr).deadline);
  dispatch.throws = true;
  EXPECT_EQ(core.tick(), milliseconds(1'000));
  dispatch.throws = false;
  core.tick();
  EXPECT_EQ(core.view(job).status, JobStatus::kExpired);
}

TEST(Upkeep, ATokenThatWasLostIsPublishedAgain) {
  base::ManualClock clock;
  KeptDispatch dispatch;
  Core core(&clock, &dispatch);
  core.submit();
  ASSERT_TRUE(support::wait_until([&] { return dispatch.tokens().size() == 1; }));
  for (int i = 0; i < 5; ++i) {  // a worker with a free slot that gets nothing
    clock.advance(milliseconds(5'000));
    support::Answer<storage::HeartbeatReply> beat;
    storage::JobClaims(*core.store)
        .heartbeat({.worker = "w",
                    .incarnation = {},
                    .host = "h",
                    .version = "v",
                    .slots = {{schemas::Kind::kOcr, 1, 0}}},
                   {}, milliseconds(20'000), beat.take());
    ASSERT_TRUE(beat.wait());
    core.tick();
  }
  EXPECT_TRUE(support::wait_until([&] { return dispatch.tokens().size() >= 2; }));
  EXPECT_EQ(dispatch.tokens().back().epoch, 2);
}

}  // namespace
}  // namespace millrace::jobs
