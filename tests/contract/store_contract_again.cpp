// Rules 7 to 9: repeated requests, retries and repeated losses.
#include "tests/contract/store_contract.h"

namespace millrace::storage::testing {
namespace {

IdempotencyKey key(const std::string& name, const std::string& body = "body") {
  return {"POST", "/v1/ocr", name, base::sha256(body)};
}

base::Result<Submitted> submit_with(JobStore& s, const IdempotencyKey& k,
                                    const std::string& tenant = kTenant) {
  auto order = s.order(tenant);
  order.idempotency = k;
  return s.try_submit(std::move(order));
}

TEST_P(Delivery, Rule07_AReplayAttachesToTheJobAndAnotherBodyIsRefused) {
  auto& s = fresh();
  const auto first = submit_with(s, key("k"));
  EXPECT_FALSE(first->replayed);
  const auto again = submit_with(s, key("k"));
  EXPECT_TRUE(again->replayed);
  EXPECT_EQ(again->job, first->job);
  EXPECT_EQ(again->status, JobStatus::kQueued);
  EXPECT_EQ(submit_with(s, key("k", "other")).error().code, Code::kIdempotencyReused);
  EXPECT_FALSE(submit_with(s, key("other"))->replayed);
  EXPECT_FALSE(submit_with(s, key("k"), "another tenant")->replayed);
  EXPECT_EQ(s.queries().list(kTenant, {}, 10, {})->items.size(), 2u);
}

TEST_P(Delivery, Rule07_AnIdempotencyRowOutlivesItsJob) {
  auto& s = fresh();
  const auto first = submit_with(s, key("k"));
  s.finish(s.claim_one());
  s.clock.advance(2h);
  EXPECT_EQ(s.step([&](auto done) { s.upkeep().drop_jobs(1h, 10, done); }), 1);
  EXPECT_EQ(s.queries().job(kTenant, first->job).error().code, Code::kNotFound);
  const auto replay = submit_with(s, key("k"));
  ASSERT_FALSE(replay) << "an id of a job that does not exist is no acceptance";
  EXPECT_EQ(replay.error().code, Code::kResultExpired);
  EXPECT_NE(replay.error().message.find(first->job.str()), std::string::npos);
  EXPECT_EQ(submit_with(s, key("k", "other")).error().code, Code::kIdempotencyReused);
  EXPECT_EQ(s.step([&](auto done) { s.upkeep().drop_idempotency(10, done); }), 0);
}

TEST_P(Delivery, Rule08_ARetryOfATerminalJobIsANewJob) {
  auto& s = fresh();
  const Lease lease = s.submit_and_claim();
  EXPECT_EQ(s.retry_job(lease.job).error().code, Code::kInvalidState);
  s.fail(lease);
  const auto before = s.view(lease.job);
  const auto fresh_job = s.retry_job(lease.job)->job;
  EXPECT_NE(fresh_job, lease.job);
  EXPECT_EQ(s.view(fresh_job).retry_of, lease.job);
  EXPECT_EQ(s.view(lease.job).version, before.version);
  EXPECT_EQ(s.view(lease.job).status, JobStatus::kFailed);
  const auto claimed = s.claim(1);
  ASSERT_EQ(claimed.size(), 1u);
  EXPECT_EQ(claimed[0].lease.job, fresh_job);
  EXPECT_EQ(claimed[0].spec, R"({"pages":"all"})");
  EXPECT_EQ(s.retry_job(lease.job, "other").error().code, Code::kNotFound);
}

TEST_P(Delivery, Rule08_OnlyFailedExpiredAndCancelledJobsAreRetried) {
  auto& s = fresh();
  const JobId succeeded = s.submit();
  s.finish(s.claim_one());
  const JobId cancelled = s.submit();
  s.cancel(cancelled).value();
  const JobId queued = s.submit();
  EXPECT_EQ(s.retry_job(succeeded).error().code, Code::kInvalidState);
  EXPECT_EQ(s.retry_job(queued).error().code, Code::kInvalidState);
  EXPECT_TRUE(s.retry_job(cancelled).has_value());
}

TEST_P(Delivery, Rule08_AJobThatExpiredIsRetriedAndOneThatRunsIsNot) {
  auto& s = fresh();
  const Lease lease = s.submit_and_claim();
  EXPECT_EQ(s.retry_job(lease.job).error().code, Code::kInvalidState);
  s.expired(lease);
  ASSERT_EQ(s.status(lease.job), JobStatus::kExpired);
  EXPECT_TRUE(s.retry_job(lease.job).has_value());
}

TEST_P(Delivery, Rule08_ClientsRetryNoChildren) {
  auto& s = fresh();
  s.split(s.submit_and_claim(), 1);
  const Lease child = s.claim_one();
  s.fail(child);
  EXPECT_EQ(s.retry_job(child.job).error().code, Code::kNotFound);
}

TEST_P(Delivery, Rule09_LostWorkersMakeNoPoisonAndOwnCrashesDo) {
  auto& s = fresh();
  const JobId job = s.submit();
  for (int i = 0; i < 7; ++i) {
    s.claim_one();
    s.release_worker();
  }
  for (int i = 0; i < 2; ++i) EXPECT_EQ(s.retry(s.claim_one(), crash_plan()), ReportResult::kApplied);
  EXPECT_EQ(s.status(job), JobStatus::kQueued);
  EXPECT_EQ(s.retry(s.claim_one(), crash_plan()), ReportResult::kApplied);
  EXPECT_EQ(s.view(job).status, JobStatus::kFailed);
  EXPECT_EQ(s.view(job).error->code, Code::kPoisonJob);
}

TEST_P(Delivery, Rule09_LossesHaveAHighLimitOfTheirOwn) {
  auto& s = fresh();
  const JobId job = s.submit();
  for (int i = 0; i < kLossesMax; ++i) {
    ASSERT_EQ(s.status(job), JobStatus::kQueued);
    s.claim_one();
    s.release_worker();
  }
  EXPECT_EQ(s.view(job).error->code, Code::kWorkerLost);
}

TEST_P(Delivery, Rule09_TheLastAttemptStoresItsResult) {
  auto& s = fresh();
  const JobId job = s.submit();
  auto p = plan();
  p.attempts_max = 2;
  p.result = "first";
  EXPECT_EQ(s.retry(s.claim_one(), p), ReportResult::kApplied);
  EXPECT_FALSE(s.queries().result(kTenant, job)->payload);
  p.result = "last";
  EXPECT_EQ(s.retry(s.claim_one(), p), ReportResult::kApplied);
  const auto stored = s.queries().result(kTenant, job);
  ASSERT_TRUE(stored->payload);
  EXPECT_EQ(stored->payload->bytes, "last");
}

TEST_P(Delivery, Rule09_OnlyFailedTriesUseUpAttempts) {
  auto& s = fresh();
  const JobId job = s.submit();
  auto p = plan();
  p.attempts_max = 2;
  s.return_to_queue(s.claim_one());
  s.claim_one();
  s.release_worker();
  EXPECT_EQ(s.retry(s.claim_one(), p), ReportResult::kApplied);
  ASSERT_EQ(s.status(job), JobStatus::kQueued);
  EXPECT_EQ(s.retry(s.claim_one(), p), ReportResult::kApplied);
  EXPECT_EQ(s.view(job).status, JobStatus::kFailed);
  EXPECT_EQ(s.view(job).error->message, "try again");
}

}  // namespace
}  // namespace millrace::storage::testing
