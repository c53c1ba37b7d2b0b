#include "jobs/job_submitter.h"

#include <gtest/gtest.h>

#include "tests/unit/jobs/core.h"

namespace millrace::jobs {
namespace {

using schemas::JobStatus;

storage::Submission command(const Core& core) {
  storage::Submission order;
  order.id = core.submitter->new_id(schemas::Kind::kExec);
  order.tenant = "t";
  order.spec = "{}";
  order.secret = "sealed";
  order.lane_key = "dm-1";
  return order;
}

// Submits and claims a job, and reports the loss of its worker. Returns the status of the job.
JobStatus after_a_lost_worker(Core& core, storage::Submission order) {
  const schemas::JobId job = order.id;
  support::Answer<storage::Submitted> made;
  core.submitter->submit(std::move(order), made.take());
  EXPECT_TRUE(made.wait().has_value());
  support::Answer<std::vector<storage::ClaimedJob>> claimed;
  storage::JobClaims(*core.store)
      .claim({.kind = schemas::Kind::kExec, .worker = "w", .count = 1}, claimed.take());
  EXPECT_EQ(claimed.wait().value().size(), 1u);
  support::Answer<int> lost;
  storage::JobMaintenance(*core.store).release_worker("w", 20, lost.take());
  EXPECT_EQ(lost.wait().value(), 1);
  return core.view(job).status;
}

TEST(JobSubmitter, ACommandBringsItsSecretAndItsLane) {
  Core core;
  storage::Submission order = command(core);
  const schemas::JobId job = order.id;
  support::Answer<storage::Submitted> made;
  core.submitter->submit(std::move(order), made.take());
  ASSERT_TRUE(made.wait().has_value());
  storage::JobQueries queries(*core.store);
  EXPECT_EQ(queries.secret(job).value(), "sealed");
  EXPECT_EQ(queries.record("t", job).value().lane_key, "dm-1");
}

TEST(JobSubmitter, ACommandOfALostWorkerHasFailed) {
  Core core;
  EXPECT_EQ(after_a_lost_worker(core, command(core)), JobStatus::kFailed);
}

TEST(JobSubmitter, ACommandThatMayRunAgainOnLossIsQueuedAgain) {
  Core core;
  storage::Submission order = command(core);
  order.rerun = schemas::Rerun::kAtLeastOnce;
  EXPECT_EQ(after_a_lost_worker(core, std::move(order)), JobStatus::kQueued);
}

}  // namespace
}  // namespace millrace::jobs
