#include <gtest/gtest.h>

#include "storage/admin/audit.h"
#include "storage/machines/machine_files.h"
#include "tests/unit/storage/job_store.h"

namespace millrace::storage::testing {
namespace {

using base::Code;
using schemas::JobStatus;

int drop_removed(JobStore& s) {
  return s.step([&](auto done) { s.upkeep().drop_removed(10, done); });
}

TEST(JobRemoval, AnEndedJobIsGoneWithTheCallAndItsFilesAreNamed) {
  JobStore s;
  auto order = s.order();
  order.input = std::make_shared<FakeBlob>("document", "a");
  s.submit(order);
  s.fail(s.claim_one());
  const auto removed = s.remove_job(order.id, "k-1");
  ASSERT_TRUE(removed);
  EXPECT_EQ(removed->reply.body, "failed");
  EXPECT_EQ(removed->files.size(), 1u);
  EXPECT_EQ(s.remove_job(order.id).error().code, Code::kNotFound);
  EXPECT_EQ(s.cancel(order.id).error().code, Code::kNotFound);
  const auto rows = Audit(s.store()).rows(0, 10);
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ(rows->front().entry.act, "job.delete");
  EXPECT_EQ(rows->front().entry.actor, "k-1");
}

TEST(JobRemoval, AFileThatARetryNeedsStays) {
  JobStore s;
  auto order = s.order();
  order.input = std::make_shared<FakeBlob>("document", "a");
  s.submit(order);
  s.fail(s.claim_one());
  const auto again = s.retry_job(order.id)->job;
  EXPECT_TRUE(s.remove_job(order.id)->files.empty());
  EXPECT_EQ(s.view(again).status, JobStatus::kQueued);
}

TEST(JobRemoval, AQueuedJobIsCancelledAndGone) {
  JobStore s;
  const auto job = s.submit();
  EXPECT_EQ(s.remove_job(job)->reply.body, "cancelled");
  EXPECT_EQ(s.remove_job(job).error().code, Code::kNotFound);
}

TEST(JobRemoval, ARunningJobIsDeletedWhenItHasEnded) {
  JobStore s;
  const Lease lease = s.submit_and_claim();
  EXPECT_EQ(s.remove_job(lease.job)->reply.body, "running");
  EXPECT_TRUE(s.view(lease.job).cancel_requested);
  EXPECT_EQ(s.remove_job(lease.job)->reply.body, "running") << "a second call changes nothing";
  EXPECT_EQ(drop_removed(s), 0);
  EXPECT_EQ(s.finish(lease), ReportResult::kCancelled);
  EXPECT_EQ(drop_removed(s), 1);
  EXPECT_EQ(s.cancel(lease.job).error().code, Code::kNotFound);
}

// Otherwise maintenance would look for work in vain until it ends.
TEST(JobRemoval, AJobThatGoesOnIsNotDueBeforeItHasEnded) {
  JobStore s;
  const auto due_at = [&s] { return s.upkeep().next_due(kLease).value().value_or(base::WallTime::max()); };
  const Lease lease = s.submit_and_claim();
  EXPECT_TRUE(s.remove_job(lease.job));
  EXPECT_GT(due_at(), s.clock.wall());
  EXPECT_EQ(s.finish(lease), ReportResult::kCancelled);
  EXPECT_LE(due_at(), s.clock.wall());
  EXPECT_EQ(drop_removed(s), 1);
  EXPECT_GT(due_at(), s.clock.wall());
}

TEST(JobRemoval, AFileCallThatGoesOnWithoutItsClientIsNotDueBeforeItHasEnded) {
  JobStore s;
  const Lease lease = s.run_command();
  EXPECT_TRUE(await<bool>([&](auto done) {
    MachineFiles(s.store()).drop_when_ended({kTenant, {}}, lease.job, done);
  }));
  EXPECT_GT(s.upkeep().next_due(kLease).value(), s.clock.wall());
  s.finish(lease);
  EXPECT_LE(s.upkeep().next_due(kLease).value(), s.clock.wall());
  EXPECT_GE(drop_removed(s), 1);
}

TEST(JobRemoval, AJobWhoseWorkerIsLostIsDeletedToo) {
  JobStore s;
  const Lease lease = s.submit_and_claim();
  EXPECT_TRUE(s.remove_job(lease.job));
  EXPECT_EQ(s.release_worker("w-1"), 1);
  EXPECT_EQ(drop_removed(s), 1);
}

TEST(JobRemoval, OnlyTheOwnersTenantDeletes) {
  JobStore s;
  const auto job = s.submit();
  EXPECT_EQ(s.remove_job(job, {}, {}, "other").error().code, Code::kNotFound);
  EXPECT_EQ(s.view(job).status, JobStatus::kQueued);
}

TEST(JobRemoval, AJobThatIsToBeDeletedIsNotRetried) {
  JobStore s;
  const Lease lease = s.submit_and_claim();
  EXPECT_TRUE(s.remove_job(lease.job));
  EXPECT_EQ(s.finish(lease), ReportResult::kCancelled);
  EXPECT_EQ(s.retry_job(lease.job).error().code, Code::kNotFound);
}

TEST(JobRemoval, ARepeatWithTheKeyShowsNoContents) {
  JobStore s;
  auto order = s.order();
  order.metadata = R"({"patient":"4711"})";
  s.submit(order);
  const IdempotencyKey key{.method = "DELETE", .path = "/v1/jobs/x", .key = "k", .fingerprint = {}};
  const auto reply = [](const schemas::JobView& job) { return job.metadata; };
  EXPECT_EQ(s.remove_job(order.id, {}, key, kTenant, reply)->reply.body, order.metadata);
  EXPECT_EQ(s.remove_job(order.id, {}, key, kTenant, reply)->reply.body, "");
}

TEST(JobRemoval, ARepeatWithTheKeyGetsTheFirstReply) {
  JobStore s;
  const auto job = s.submit();
  const IdempotencyKey key{.method = "DELETE", .path = "/v1/jobs/x", .key = "k", .fingerprint = {}};
  EXPECT_FALSE(s.remove_job(job, {}, key)->reply.replayed);
  const auto again = s.remove_job(job, {}, key);
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->reply.replayed);
  EXPECT_EQ(again->reply.body, "cancelled");
}

}  // namespace
}  // namespace millrace::storage::testing
