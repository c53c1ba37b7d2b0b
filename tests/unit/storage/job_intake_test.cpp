#include "storage/jobs/job_intake.h"

#include "tests/unit/storage/fake_blob.h"
#include "tests/unit/storage/job_store.h"

namespace millrace::storage::testing {
namespace {

using base::Code;

TEST(JobIntake, AJobIsWhatWasSubmitted) {
  JobStore s;
  auto order = s.order();
  order.priority = 3;
  order.deadline_after = 1h;
  const auto job = s.submit(order);
  const auto view = s.view(job);
  EXPECT_EQ(view.status, JobStatus::kQueued);
  EXPECT_EQ(view.model, "millrace/ocr");
  EXPECT_EQ(view.priority, 3);
  EXPECT_EQ(view.version, 1);
  EXPECT_EQ(view.attempt, 0);
  EXPECT_EQ(view.created_at, s.clock.wall());
  EXPECT_EQ(view.deadline, s.clock.wall() + 1h);
  EXPECT_FALSE(view.started_at || view.completed_at || view.error || view.retry_of || view.has_result);
  const auto claimed = s.claim(1);
  ASSERT_EQ(claimed.size(), 1u);
  EXPECT_EQ(claimed[0].spec, order.spec);
  EXPECT_EQ(claimed[0].traceparent, "00-trace");
  EXPECT_EQ(claimed[0].tenant, kTenant);
  EXPECT_EQ(claimed[0].lease.attempt, 1);
}

TEST(JobIntake, ASpecAbove32KiBMustTravelAsABlob) {
  JobStore s;
  auto order = s.order();
  order.spec.assign(kInlineMax + 1, ' ');
  EXPECT_EQ(s.try_submit(std::move(order)).error().code, Code::kInternal);
}

TEST(JobIntake, AStagedFileIsNamedOnceAndASecondOfTheSameContentIsCounted) {
  JobStore s;
  const auto first = std::make_shared<FakeBlob>("document", "a");
  const auto second = std::make_shared<FakeBlob>("document", "b");
  const auto spec = std::make_shared<FakeBlob>("large spec", "c");
  auto order = s.order();
  order.input = first;
  order.spec = "";
  order.spec_blob = spec;
  s.submit(order);
  order = s.order();
  order.input = second;
  s.submit(order);
  EXPECT_EQ(first->referenced(), true);
  EXPECT_EQ(second->referenced(), false);
  EXPECT_EQ(spec->referenced(), true);
  const auto claimed = s.claim(2);
  ASSERT_EQ(claimed.size(), 2u);
  EXPECT_EQ(claimed[0].input, first->ref());
  EXPECT_EQ(claimed[0].spec_blob, spec->ref());
  EXPECT_EQ(claimed[1].input, first->ref());
  EXPECT_TRUE(s.upkeep().is_blob_referenced(first->ref().path));
  EXPECT_FALSE(s.upkeep().is_blob_referenced(second->ref().path));
}

TEST(JobIntake, AJobWhoseSpecIsABlobKeepsItsName) {
  JobStore s;
  auto order = s.order();
  order.spec = "";
  order.spec_blob = std::make_shared<FakeBlob>("large spec", "c");
  order.name = "talk.mp3";
  const JobId job = s.submit(order);
  EXPECT_EQ(s.view(job).name, "talk.mp3");
}

TEST(JobIntake, TheSameContentOfTwoTenantsIsTwoBlobs) {
  JobStore s;
  const auto first = std::make_shared<FakeBlob>("document", "a");
  const auto second = std::make_shared<FakeBlob>("document", "b");
  auto order = s.order();
  order.input = first;
  s.submit(order);
  order = s.order("other");
  order.input = second;
  s.submit(order);
  EXPECT_EQ(second->referenced(), true);
}

TEST(JobIntake, AReplayTakesNoFile) {
  JobStore s;
  auto order = s.order();
  order.idempotency = IdempotencyKey{"POST", "/v1/ocr", "k", base::sha256("x")};
  s.submit(order);
  const auto blob = std::make_shared<FakeBlob>("document", "a");
  order.id = s.new_id();
  order.input = blob;
  EXPECT_TRUE(s.try_submit(order)->replayed);
  EXPECT_EQ(blob->referenced(), std::nullopt);
  EXPECT_FALSE(s.upkeep().is_blob_referenced(blob->ref().path));
}

TEST(JobIntake, KeysAreTakenApartByEachOfTheirParts) {
  JobStore s;
  auto order = s.order();
  for (const auto& key : {IdempotencyKey{"POST", "/a", "bc", {}}, IdempotencyKey{"POST", "/ab", "c", {}},
                          IdempotencyKey{"PUT", "/a", "bc", {}}, IdempotencyKey{"POST", "/a", "b", {}}}) {
    order.id = s.new_id();
    order.idempotency = key;
    EXPECT_FALSE(s.try_submit(order)->replayed);
  }
}

TEST(JobIntake, CancelEndsAQueuedJobAtOnceAndRequestsItOfARunningOne) {
  JobStore s;
  const auto queued = s.submit();
  EXPECT_EQ(s.cancel(queued)->status, JobStatus::kCancelled);
  EXPECT_TRUE(s.claim(1).empty());
  const Lease lease = s.submit_and_claim();
  EXPECT_EQ(s.cancel(lease.job)->status, JobStatus::kRunning);
  EXPECT_EQ(s.beat({lease}).cancel, std::vector<schemas::JobId>{lease.job});
  EXPECT_EQ(s.finish(lease), ReportResult::kCancelled);
  EXPECT_EQ(s.finish(lease), ReportResult::kCancelled);
  EXPECT_EQ(s.cancelled(lease), ReportResult::kRepeated);
  const auto view = *s.cancel(lease.job);
  EXPECT_EQ(view.status, JobStatus::kCancelled);
  EXPECT_FALSE(view.has_result);
  EXPECT_EQ(s.cancel(s.new_id()).error().code, Code::kNotFound);
}

TEST(JobIntake, CancelOfATerminalJobChangesNothing) {
  JobStore s;
  const Lease lease = s.submit_and_claim();
  s.finish(lease);
  const auto before = s.view(lease.job);
  s.clock.advance(1min);
  const auto after = *s.cancel(lease.job);
  EXPECT_EQ(after.status, JobStatus::kSucceeded);
  EXPECT_EQ(after.version, before.version);
  EXPECT_EQ(after.completed_at, before.completed_at);
}

TEST(JobIntake, ARetryHasItsOwnReferencesToSpecAndInput) {
  JobStore s;
  const auto input = std::make_shared<FakeBlob>("document", "a");
  auto order = s.order();
  order.input = input;
  s.submit(order);
  s.fail(s.claim_one());
  const auto again = s.retry_job(order.id)->job;
  s.clock.advance(8 * 24h);
  EXPECT_EQ(s.step([&](auto done) { s.upkeep().drop_jobs(7 * 24h, 10, done); }), 1);
  const auto paths =
      await<std::vector<std::string>>([&](auto done) { s.upkeep().drop_blobs(10, done); }).value();
  EXPECT_TRUE(paths.empty());
  EXPECT_EQ(s.view(again).retry_of, order.id);
  EXPECT_EQ(s.retry_job(order.id).error().code, Code::kNotFound);
}

TEST(JobIntake, ARetryThatHappensOnlyOnceReturnsTheRetryThatExists) {
  JobStore s;
  const Lease lease = s.submit_and_claim();
  s.fail(lease);
  const Retry once{.by = {.tenant = kTenant}, .old = lease.job, .only_once = true};
  const auto first = s.retry_job(once), second = s.retry_job(once);
  EXPECT_FALSE(first->replayed);
  EXPECT_TRUE(second->replayed);
  EXPECT_EQ(second->job, first->job);
  EXPECT_EQ(s.view(lease.job).retried_by, first->job);
  EXPECT_FALSE(s.view(first->job).retried_by);
  const auto another = s.retry_job(lease.job)->job;
  EXPECT_EQ(s.view(lease.job).retried_by, another) << "without only_once there is always a new job";
}

TEST(JobIntake, ARetryWithAKeyIsMadeOnce) {
  JobStore s;
  const Lease lease = s.submit_and_claim();
  s.fail(lease);
  const auto with = [&](const std::string& key, std::string_view body) {
    return s.retry_job({.by = {.tenant = kTenant},
                        .old = lease.job,
                        .idempotency = IdempotencyKey{
                            .method = "POST", .path = "/r", .key = key, .fingerprint = base::sha256(body)}});
  };
  const auto first = with("k", "");
  EXPECT_EQ(with("k", "")->job, first->job);
  EXPECT_TRUE(with("k", "")->replayed);
  EXPECT_EQ(with("k", "{}").error().code, Code::kIdempotencyReused);
  EXPECT_NE(with("other", "")->job, first->job);
}

}  // namespace
}  // namespace millrace::storage::testing
