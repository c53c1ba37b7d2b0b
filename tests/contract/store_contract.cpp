// What holds for every store behind the role headers: the rules of delivery that a store can keep, each by
// its number.
#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "tests/unit/storage/job_store.h"

namespace millrace::storage::testing {
namespace {

using base::Code;
using schemas::is_terminal;
using schemas::JobId;

struct StoreKind {
  const char* name;
  OpenStore open;
};

class Delivery : public ::testing::TestWithParam<StoreKind> {
 protected:
  JobStore& fresh(bool outbox = false) {
    house_.reset();
    house_ = std::make_unique<JobStore>(outbox, GetParam().open);
    return *house_;
  }

 private:
  std::unique_ptr<JobStore> house_;
};

INSTANTIATE_TEST_SUITE_P(Stores, Delivery, ::testing::Values(StoreKind{"sqlite", &Store::open}),
                         [](const auto& kind) { return std::string(kind.param.name); });

RetryPlan plan(std::chrono::milliseconds delay = 0ms) {
  RetryPlan p;
  p.delay = delay;
  p.error = {Code::kUpstream, "try again"};
  return p;
}
RetryPlan crash_plan() {
  auto p = plan();
  p.crash = true;
  return p;
}
RetryPlan loss_plan() {
  auto p = plan();
  p.loss = true;
  return p;
}

// Every way in which a running job could come back to the queue.
struct WayBack {
  const char* name;
  void (*go)(JobStore&, const Lease&);
};
const WayBack kWaysBack[] = {
    {"retry", [](JobStore& s, const Lease& l) { s.retry(l, plan(1s)); }},
    {"crash", [](JobStore& s, const Lease& l) { s.retry(l, crash_plan()); }},
    {"loss", [](JobStore& s, const Lease& l) { s.retry(l, loss_plan()); }},
    {"drain", [](JobStore& s, const Lease& l) { s.give_back(l); }},
    {"lease", [](JobStore& s, const Lease&) { s.let_leases_end(); }},
    {"worker lock", [](JobStore& s, const Lease&) { s.release_worker(); }},
};

TEST_P(Delivery, Rule01_WhatWasAnsweredIsThereAfterTheStoreIsOpenedAgain) {
  auto& s = fresh();
  const JobId queued = s.submit();
  const JobId other = s.submit();
  const Lease lease = s.claim_one();
  ASSERT_EQ(lease.job, queued);
  ASSERT_EQ(s.finish(lease, R"({"text":"x"})"), Applied::kYes);
  const Lease running = s.claim_one();
  s.reopen();
  EXPECT_EQ(s.queries().result(kTenant, queued)->payload->bytes, R"({"text":"x"})");
  EXPECT_EQ(s.status(other), JobStatus::kRunning);
  EXPECT_EQ(s.finish(running), Applied::kYes);
}

TEST_P(Delivery, Rule01_ACompletionRunsAfterItsCommitIsVisibleToReaders) {
  auto& s = fresh();
  auto order = s.order();
  const JobId id = order.id;
  auto seen = std::make_shared<std::promise<bool>>();
  s.intake().submit(std::move(order), [&s, id, seen](base::Result<Submitted> r) {
    seen->set_value(r.has_value() && s.queries().job(kTenant, id).has_value());
  });
  EXPECT_TRUE(seen->get_future().get());
}

TEST_P(Delivery, Rule03_AClaimedAtMostOnceJobNeverReturnsToQueued) {
  for (const WayBack& way : kWaysBack) {
    auto& s = fresh();
    const JobId job = s.submit_at_most_once();
    const Lease lease = s.claim_one();
    way.go(s, lease);
    const auto view = s.view(job);
    EXPECT_EQ(view.status, JobStatus::kFailed) << way.name;
    EXPECT_EQ(view.error->code, Code::kWorkerLost) << way.name;
    EXPECT_TRUE(s.claim(1).empty()) << way.name;
  }
}

TEST_P(Delivery, Rule03_AnAtMostOnceJobDoesNotSplit) {
  auto& s = fresh();
  s.submit_at_most_once();
  const Lease lease = s.claim_one();
  const auto split = await<Applied>([&](auto done) {
    s.outcomes().split(lease, {{"{}", s.new_id()}}, 1, done);
  });
  EXPECT_EQ(split.error().code, Code::kInvalidState);
  EXPECT_EQ(s.finish(lease), Applied::kYes);
}

TEST_P(Delivery, Rule03_AnAtLeastOnceJobReturnsByEveryWay) {
  for (const WayBack& way : kWaysBack) {
    auto& s = fresh();
    const JobId job = s.submit();
    way.go(s, s.claim_one());
    EXPECT_EQ(s.status(job), JobStatus::kQueued) << way.name;
    s.clock.advance(1s);
    s.release_due();
    EXPECT_EQ(s.claim(1).size(), 1u) << way.name;
  }
}

TEST_P(Delivery, Rule04_EveryWayBackToTheQueueEndsInCancelledAfterACancelRequest) {
  for (const WayBack& way : kWaysBack) {
    auto& s = fresh();
    const JobId job = s.submit();
    const Lease lease = s.claim_one();
    EXPECT_TRUE(s.cancel(job)->cancel_requested);
    way.go(s, lease);
    EXPECT_EQ(s.status(job), JobStatus::kCancelled) << way.name;
  }
}

TEST_P(Delivery, Rule04_ASplitAfterACancelRequestMakesNoChildren) {
  auto& s = fresh();
  const Lease lease = s.submit_and_claim();
  s.cancel(lease.job).value();
  EXPECT_EQ(s.split(lease, 3), Applied::kCancelled);
  EXPECT_EQ(s.status(lease.job), JobStatus::kCancelled);
  EXPECT_TRUE(s.children(lease.job).empty());
}

// Every way in which a running child can end.
struct ChildEndWay {
  const char* name;
  void (*go)(JobStore&, const Lease&);
};
const ChildEndWay kChildEnds[] = {
    {"finish", [](JobStore& s, const Lease& l) { s.finish(l); }},
    {"fail", [](JobStore& s, const Lease& l) { s.fail(l); }},
    {"cancelled", [](JobStore& s, const Lease& l) { s.cancelled(l); }},
    {"expired", [](JobStore& s, const Lease& l) { s.expired(l); }},
    {"retry at its bound",
     [](JobStore& s, const Lease& l) {
       auto p = plan();
       p.attempts_max = 1;
       s.retry(l, p);
     }},
    {"poison",
     [](JobStore& s, const Lease& l) {
       auto p = crash_plan();
       p.crashes_max = 1;
       s.retry(l, p);
     }},
    {"too many losses", [](JobStore& s, const Lease&) { s.let_leases_end(1); }},
    {"worker lost for good", [](JobStore& s, const Lease&) { s.release_worker("w-1", 1); }},
};

TEST_P(Delivery, Rule05_EveryTerminalMoveOfAChildLowersTheCounterAndTheLastReleasesTheParent) {
  for (const ChildEndWay& way : kChildEnds) {
    auto& s = fresh();
    const Lease parent = s.submit_and_claim();
    ASSERT_EQ(s.split(parent, 2), Applied::kYes);
    EXPECT_EQ(s.status(parent.job), JobStatus::kWaiting);
    const Lease first = s.claim_one();
    way.go(s, first);
    EXPECT_EQ(s.status(parent.job), JobStatus::kWaiting) << way.name;
    const Lease second = s.claim_one();
    ASSERT_NE(second.job, parent.job) << way.name;
    way.go(s, second);
    EXPECT_EQ(s.status(parent.job), JobStatus::kQueued) << way.name;
    const auto merge = s.claim(1);
    ASSERT_EQ(merge.size(), 1u) << way.name;
    EXPECT_EQ(merge[0].lease.job, parent.job);
    EXPECT_TRUE(merge[0].children_done);
  }
}

TEST_P(Delivery, Rule05_ARetriedChildIsNotCounted) {
  auto& s = fresh();
  const Lease parent = s.submit_and_claim();
  s.split(parent, 1);
  for (int i = 0; i < 3; ++i) s.retry(s.claim_one(), plan());
  EXPECT_EQ(s.status(parent.job), JobStatus::kWaiting);
  s.finish(s.claim_one());
  EXPECT_EQ(s.status(parent.job), JobStatus::kQueued);
}

TEST_P(Delivery, Rule05_OnlyAWaitingParentIsReleased) {
  auto& s = fresh();
  const Lease parent = s.submit_and_claim();
  s.split(parent, 2);
  const Lease child = s.claim_one();
  EXPECT_EQ(s.cancel(parent.job)->status, JobStatus::kCancelled);
  EXPECT_EQ(s.finish(child), Applied::kYes);
  EXPECT_EQ(s.cancel_orphans(), 1);
  EXPECT_EQ(s.status(parent.job), JobStatus::kCancelled);
  EXPECT_TRUE(s.claim(9).empty());
}

TEST_P(Delivery, Rule05_ChildrenOfAnEndedParentAreCancelledInBoundedStepsAndRunningOnesAreTold) {
  auto& s = fresh();
  const Lease parent = s.submit_and_claim();
  s.split(parent, 5);
  const Lease child = s.claim_one();
  s.cancel(parent.job).value();
  EXPECT_EQ(s.cancel_orphans(2), 2);
  EXPECT_EQ(s.cancel_orphans(2), 2);
  EXPECT_EQ(s.cancel_orphans(2), 1);
  EXPECT_EQ(s.cancel_orphans(2), 0);
  const auto beat = s.beat({child});
  EXPECT_TRUE(beat.lost.empty());
  EXPECT_EQ(beat.cancel, std::vector<JobId>{child.job});
  EXPECT_EQ(s.cancelled(child), Applied::kYes);
  for (const auto& end : s.children(parent.job)) EXPECT_EQ(end.status, JobStatus::kCancelled);
}

TEST_P(Delivery, Rule05_AChildOfAnEndedParentIsNeverClaimed) {
  auto& s = fresh();
  const Lease parent = s.submit_and_claim();
  s.split(parent, 3);
  s.cancel(parent.job).value();
  EXPECT_TRUE(s.claim(9).empty());
  for (const auto& end : s.children(parent.job)) EXPECT_EQ(end.status, JobStatus::kCancelled);
  EXPECT_EQ(s.cancel_orphans(), 0);
}

TEST_P(Delivery, Rule05_AnExpiredParentTakesItsChildrenAlong) {
  auto& s = fresh();
  const Lease parent = s.submit_and_claim();
  s.split(parent, 3);
  s.clock.advance(24h);
  EXPECT_EQ(s.expire_deadlines(), 1);
  EXPECT_EQ(s.status(parent.job), JobStatus::kExpired);
  EXPECT_EQ(s.cancel_orphans(), 3);
}

TEST_P(Delivery, Rule06_EveryWriteOfAWorkerCarriesItsLease) {
  auto& s = fresh();
  const JobId job = s.submit();
  const Lease lost = s.claim_one();
  ASSERT_EQ(s.let_leases_end(), 1);
  const Lease held = s.claim_one();
  ASSERT_EQ(held.job, job);
  Lease other_attempt = held;
  other_attempt.attempt = 1;
  Lease other_token = held;
  other_token.token = lost.token;
  for (const Lease& lease : {lost, other_attempt, other_token}) {
    EXPECT_EQ(s.finish(lease), Applied::kLeaseLost);
    EXPECT_EQ(s.fail(lease), Applied::kLeaseLost);
    EXPECT_EQ(s.cancelled(lease), Applied::kLeaseLost);
    EXPECT_EQ(s.expired(lease), Applied::kLeaseLost);
    EXPECT_EQ(s.retry(lease, plan()), Applied::kLeaseLost);
    EXPECT_EQ(s.give_back(lease), Applied::kLeaseLost);
    EXPECT_EQ(s.split(lease, 2), Applied::kLeaseLost);
    EXPECT_EQ(s.part(lease, 0), Applied::kLeaseLost);
    EXPECT_EQ(s.total(lease, 3), Applied::kLeaseLost);
    EXPECT_EQ(s.beat({lease}).lost, std::vector<JobId>{job});
  }
  EXPECT_TRUE(s.queries().parts(kTenant, job)->empty());
  EXPECT_EQ(s.view(job).progress_total, 0);
  EXPECT_EQ(s.finish(held), Applied::kYes);
}

TEST_P(Delivery, Rule06_WritesAboutAJobThatDoesNotRunAreRefused) {
  auto& s = fresh();
  const JobId job = s.submit();
  const Lease never{job, 0, base::Uuid::make(s.clock.wall())};
  EXPECT_EQ(s.finish(never), Applied::kLeaseLost);
  EXPECT_EQ(s.split(never, 1), Applied::kLeaseLost);
  EXPECT_EQ(s.part(never, 0), Applied::kLeaseLost);
  EXPECT_EQ(s.finish(Lease{s.new_id(), 1, never.token}), Applied::kLeaseLost);
  EXPECT_EQ(s.status(job), JobStatus::kQueued);
}

TEST_P(Delivery, Rule06_PartialPagesAreIdempotentByJobAndPage) {
  auto& s = fresh();
  const Lease lease = s.submit_and_claim();
  s.total(lease, 2);
  EXPECT_EQ(s.part(lease, 1, R"("b")"), Applied::kYes);
  EXPECT_EQ(s.part(lease, 1, R"("again")"), Applied::kYes);
  EXPECT_EQ(s.part(lease, 0, R"("a")"), Applied::kYes);
  EXPECT_EQ(s.view(lease.job).progress_done, 2);
  auto parts = *s.queries().parts(kTenant, lease.job);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].payload.bytes, R"("a")");
  EXPECT_EQ(parts[1].payload.bytes, R"("b")");
  EXPECT_EQ(s.part(lease, 1, R"("better")", true), Applied::kYes);
  EXPECT_EQ(s.view(lease.job).progress_done, 2);
  EXPECT_EQ(s.queries().parts(kTenant, lease.job)->at(1).payload.bytes, R"("better")");
}

TEST_P(Delivery, Rule06_AFinishWhoseReplyWasLostIsASuccessWhenRepeated) {
  auto& s = fresh();
  const Lease lease = s.submit_and_claim();
  EXPECT_EQ(s.finish(lease, "1"), Applied::kYes);
  EXPECT_EQ(s.finish(lease, "2"), Applied::kRepeated);
  EXPECT_EQ(s.queries().result(kTenant, lease.job)->payload->bytes, "1");
}

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
  EXPECT_TRUE(replay->replayed);
  EXPECT_EQ(replay->job, first->job);
  EXPECT_EQ(replay->status, JobStatus::kSucceeded);
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
  for (int i = 0; i < 2; ++i) EXPECT_EQ(s.retry(s.claim_one(), crash_plan()), Applied::kYes);
  EXPECT_EQ(s.status(job), JobStatus::kQueued);
  EXPECT_EQ(s.retry(s.claim_one(), crash_plan()), Applied::kYes);
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

TEST_P(Delivery, Rule09_OnlyFailedTriesUseUpAttempts) {
  auto& s = fresh();
  const JobId job = s.submit();
  auto p = plan();
  p.attempts_max = 2;
  s.give_back(s.claim_one());
  s.claim_one();
  s.release_worker();
  EXPECT_EQ(s.retry(s.claim_one(), p), Applied::kYes);
  ASSERT_EQ(s.status(job), JobStatus::kQueued);
  EXPECT_EQ(s.retry(s.claim_one(), p), Applied::kYes);
  EXPECT_EQ(s.view(job).status, JobStatus::kFailed);
  EXPECT_EQ(s.view(job).error->message, "try again");
}

TEST_P(Delivery, Rule10_ATokenWhoseEpochIsNotAboveTheRowsMayClaim) {
  auto& s = fresh();
  const JobId job = s.submit();
  s.retry(s.claim_one(), plan());  // epoch 2
  EXPECT_FALSE(may_claim(s.store(), {job, 3}).value());
  EXPECT_TRUE(may_claim(s.store(), {job, 2}).value());
  EXPECT_TRUE(may_claim(s.store(), {job, 1}).value());
  JobClaims::Request by_token{schemas::Kind::kOcr, "w-1", 1, {{job, 3}}, true};
  EXPECT_TRUE(s.claim(by_token).empty());
  by_token.hints = {{job, 1}};
  EXPECT_EQ(s.claim(by_token).size(), 1u);
  EXPECT_FALSE(may_claim(s.store(), {job, 2}).value());
  EXPECT_TRUE(s.claim(by_token).empty());
  EXPECT_FALSE(may_claim(s.store(), {s.new_id(), 1}).value());
}

std::vector<Ready> take(JobStore& s, int window) {
  return await<std::vector<Ready>>(
             [&](auto done) { s.upkeep().take_for_publication(schemas::Kind::kOcr, window, 2.0, done); })
      .value();
}
bool report(JobStore& s, const JobId& job, std::int64_t epoch, bool delivered) {
  return await<bool>([&](auto done) { s.upkeep().publication_done(job, epoch, delivered, done); }).value();
}
std::vector<Ready> republish_lost(JobStore& s) {
  return await<std::vector<Ready>>(
             [&](auto done) { s.upkeep().republish_lost(schemas::Kind::kOcr, 10s, 100, done); })
      .value();
}
std::vector<Ready> republish_outbox(JobStore& s) {
  return await<std::vector<Ready>>([&](auto done) { s.upkeep().republish_outbox(100, done); }).value();
}
bool heard_ready(JobStore& s, std::size_t count) {
  return support::wait_until([&] { return s.heard().all().ready.size() >= count; });
}

TEST_P(Delivery, Rule10_TheWindowIsCountedInTheStoreAndTheRestWaitsThere) {
  auto& s = fresh(true);
  std::vector<JobId> jobs;
  for (int i = 0; i < 12; ++i) jobs.push_back(s.submit());
  EXPECT_TRUE(take(s, 8).empty());
  ASSERT_TRUE(heard_ready(s, 8));
  EXPECT_EQ(s.heard().all().ready.size(), 8u);  // the smallest window; nobody has free slots
  const auto claimed = s.claim(3);
  ASSERT_EQ(claimed.size(), 3u);
  const auto more = take(s, 8);
  ASSERT_EQ(more.size(), 3u);
  EXPECT_EQ(more[0].job, jobs[8]);
  EXPECT_EQ(more[2].job, jobs[10]);
  EXPECT_EQ(more[0].traceparent, "00-trace");
  s.beat({}, 10, 0);
  EXPECT_EQ(take(s, 8).size(), 1u);  // 2 × 10 free slots
}

TEST_P(Delivery, Rule10_ADeliveryReportClearsItsJobAndEpochOnly) {
  auto& s = fresh(true);
  const JobId job = s.submit();
  EXPECT_FALSE(report(s, job, 2, true));
  EXPECT_TRUE(report(s, job, 1, true));
  EXPECT_FALSE(report(s, job, 1, true));
  s.clock.advance(1s);
  EXPECT_TRUE(republish_outbox(s).empty());
}

TEST_P(Delivery, Rule10_AFailedPublicationMayBePublishedAgain) {
  auto& s = fresh(true);
  const JobId job = s.submit();
  EXPECT_TRUE(take(s, 8).empty());
  EXPECT_TRUE(report(s, job, 1, false));
  const auto again = take(s, 8);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].job, job);
}

TEST_P(Delivery, Rule10_WhatAnEarlierProcessLeftMarkedIsPublishedAgain) {
  auto& s = fresh(true);
  const JobId open = s.submit();
  const JobId delivered = s.submit();
  report(s, delivered, 1, true);
  s.reopen();
  s.clock.advance(1s);
  const auto again = republish_outbox(s);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].job, open);
  EXPECT_TRUE(republish_outbox(s).empty());
}

TEST_P(Delivery, Rule10_ALostTokenIsPublishedAgainOnlyAfterASlotWasFreeForFiveSeconds) {
  auto& s = fresh(true);
  const JobId job = s.submit();
  report(s, job, 1, true);
  s.clock.advance(11s);
  EXPECT_TRUE(republish_lost(s).empty());  // nobody is there
  s.beat({}, 2, 2);
  s.clock.advance(6s);
  s.beat({}, 2, 2);
  EXPECT_TRUE(republish_lost(s).empty());  // nobody is free
  s.beat({}, 2, 1);
  s.clock.advance(4s);
  s.beat({}, 2, 1);
  EXPECT_TRUE(republish_lost(s).empty());
  s.clock.advance(1s);
  const auto lost = republish_lost(s);
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost[0].epoch, 2);
  EXPECT_TRUE(republish_lost(s).empty());
}

TEST_P(Delivery, Rule10_WithoutAnOutboxEveryReadyJobIsAnnouncedByItsCommit) {
  auto& s = fresh();
  for (int i = 0; i < 12; ++i) s.submit();
  ASSERT_TRUE(heard_ready(s, 12));
  s.retry(s.claim_one(), plan(5s));
  s.clock.advance(5s);
  EXPECT_EQ(s.release_due(), 1);
  ASSERT_TRUE(heard_ready(s, 13));
  EXPECT_EQ(s.heard().all().ready.back().epoch, 2);
}

JobId submit_as(JobStore& s, const std::string& tenant, int priority = 0) {
  auto order = s.order(tenant);
  order.priority = priority;
  return s.submit(std::move(order));
}

TEST_P(Delivery, Rule11_TenantsAreServedInTurnAndWithinATenantByPriorityThenAge) {
  auto& s = fresh();
  std::vector<JobId> a, b;
  for (int i = 0; i < 4; ++i) a.push_back(submit_as(s, "a"));
  const JobId urgent = submit_as(s, "a", 5);
  for (int i = 0; i < 2; ++i) b.push_back(submit_as(s, "b"));
  const JobId c = submit_as(s, "c");
  std::vector<JobId> served;
  for (const auto& claimed : s.claim(4)) served.push_back(claimed.lease.job);
  for (int i = 0; i < 4; ++i) served.push_back(s.claim_one().job);
  EXPECT_EQ(served, (std::vector<JobId>{urgent, b[0], c, a[0], b[1], a[1], a[2], a[3]}));
}

TEST_P(Delivery, Rule11_ThePublisherTakesJobsInTheOrderInWhichAWorkerWould) {
  auto order_of = [&](bool outbox) {
    auto& s = fresh(outbox);
    std::vector<std::string> tenants;
    if (outbox) {
      // Fill the window, so that the rest waits.
      for (int i = 0; i < 8; ++i) submit_as(s, "z");
    }
    std::vector<JobId> ids;
    for (const char* tenant : {"a", "a", "a", "b", "c", "c"}) ids.push_back(submit_as(s, tenant));
    ids.push_back(submit_as(s, "a", 9));
    std::vector<JobId> order;
    if (outbox) {
      for (const auto& ready : take(s, 15)) order.push_back(ready.job);
    } else {
      for (const auto& claimed : s.claim(7)) order.push_back(claimed.lease.job);
    }
    std::vector<std::ptrdiff_t> indexes;
    for (const auto& job : order) indexes.push_back(std::find(ids.begin(), ids.end(), job) - ids.begin());
    return indexes;
  };
  const auto claimed = order_of(false);
  EXPECT_EQ(claimed, (std::vector<std::ptrdiff_t>{6, 3, 4, 0, 5, 1, 2}));
  EXPECT_EQ(order_of(true), claimed);
}

TEST_P(Delivery, Rule11_AWorkerTakesWhatItsTokensNameFirst) {
  auto& s = fresh();
  s.submit();
  const JobId second = s.submit();
  const auto claimed = s.claim(1, {{s.new_id(), 1}, {second, 1}});
  ASSERT_EQ(claimed.size(), 1u);
  EXPECT_EQ(claimed[0].lease.job, second);
}

TEST_P(Delivery, Rule12_VersionsAreGapFreeAndOnlyCommittedOnesAreHeard) {
  auto& s = fresh();
  const Lease first = s.submit_and_claim();
  const JobId job = first.job;
  s.retry(first, plan());
  const Lease second = s.claim_one();
  s.total(second, 2);
  s.part(second, 0);
  s.part(second, 1);
  s.finish(second);
  const auto events = *s.queries().events(kTenant, job, 0, 100);
  std::vector<std::string> types;
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].version, static_cast<std::int64_t>(i) + 1);
    types.push_back(events[i].type);
  }
  EXPECT_EQ(types, (std::vector<std::string>{"queued", "running", "retry", "running", "progress", "page",
                                             "page", "succeeded"}));
  EXPECT_EQ(s.view(job).version, 8);
  ASSERT_TRUE(support::wait_until([&] { return s.heard().all().changes.size() == 8; }));
  std::int64_t version = 0;
  for (const auto& change : s.heard().all().changes) {
    EXPECT_EQ(change.version, ++version);
    EXPECT_EQ(change.tenant, kTenant);
  }
  EXPECT_EQ(s.queries().events(kTenant, job, 6, 1)->at(0).version, 7);
}

TEST_P(Delivery, Rule12_ChildrenHaveNoHistoryAndSpeakThroughTheirParent) {
  auto& s = fresh();
  const Lease parent = s.submit_and_claim();
  s.split(parent, 2);
  const auto before = s.view(parent.job).version;
  const Lease child = s.claim_one();
  EXPECT_EQ(s.view(parent.job).version, before);
  s.part(child, 3, R"("p3")");
  EXPECT_EQ(s.view(parent.job).version, before + 1);
  EXPECT_EQ(s.view(parent.job).progress_done, 1);
  s.finish(child);
  EXPECT_EQ(s.view(parent.job).version, before + 1);
  EXPECT_EQ(s.queries().all_parts(parent.job)->at(0).index, 3);
  EXPECT_EQ(s.queries().job(kTenant, child.job).error().code, Code::kNotFound);
}

// Every move on a job in every state, compared with the table of legal moves.
struct Move {
  const char* name;
  void (*go)(JobStore&, const Lease&);
};
const Move kMoves[] = {
    {"claim", [](JobStore& s, const Lease&) { s.claim(9); }},
    {"finish", [](JobStore& s, const Lease& l) { s.finish(l); }},
    {"fail", [](JobStore& s, const Lease& l) { s.fail(l); }},
    {"cancelled", [](JobStore& s, const Lease& l) { s.cancelled(l); }},
    {"expired", [](JobStore& s, const Lease& l) { s.expired(l); }},
    {"retry", [](JobStore& s, const Lease& l) { s.retry(l, plan()); }},
    {"give back", [](JobStore& s, const Lease& l) { s.give_back(l); }},
    {"split",
     [](JobStore& s, const Lease& l) {
       (void)await<Applied>([&](auto done) { s.outcomes().split(l, {{"{}", s.new_id()}}, 1, done); });
     }},
    {"cancel", [](JobStore& s, const Lease& l) { (void)s.cancel(l.job); }},
    {"lease", [](JobStore& s, const Lease&) { s.let_leases_end(); }},
    {"worker lock", [](JobStore& s, const Lease&) { s.release_worker(); }},
    {"deadline",
     [](JobStore& s, const Lease&) {
       s.clock.advance(25h);
       s.expire_deadlines();
     }},
    {"child",
     [](JobStore& s, const Lease&) {
       for (const auto& claimed : s.claim(9)) s.finish(claimed.lease);
     }},
};

// A job in the state asked for, with the lease that its last attempt had.
Lease job_in(JobStore& s, JobStatus status) {
  const JobId job = s.submit();
  if (status == JobStatus::kQueued) return {job, 0, {}};
  const Lease lease = s.claim_one();
  switch (status) {
    case JobStatus::kQueued:
    case JobStatus::kRunning:
      break;
    case JobStatus::kWaiting:
      s.split(lease, 1);
      break;
    case JobStatus::kSucceeded:
      s.finish(lease);
      break;
    case JobStatus::kFailed:
      s.fail(lease);
      break;
    case JobStatus::kCancelled:
      s.cancelled(lease);
      break;
    case JobStatus::kExpired:
      s.expired(lease);
      break;
  }
  return lease;
}

TEST_P(Delivery, TheStoreMakesExactlyTheLegalMoves) {
  std::set<std::pair<JobStatus, JobStatus>> made;
  for (int from = 0; from <= static_cast<int>(JobStatus::kExpired); ++from) {
    for (const Move& move : kMoves) {
      auto& s = fresh();
      const auto before = static_cast<JobStatus>(from);
      const Lease lease = job_in(s, before);
      ASSERT_EQ(s.status(lease.job), before);
      s.heard().forget();
      move.go(s, lease);
      JobStatus at = before;
      const JobStatus after = s.status(lease.job);
      if (after != before) {
        ASSERT_TRUE(support::wait_until([&] {
          const auto changes = s.heard().all().changes;
          return std::any_of(changes.begin(), changes.end(),
                             [&](const Change& c) { return c.job == lease.job && c.status == after; });
        })) << move.name;
      }
      for (const Change& change : s.heard().all().changes) {
        if (change.job != lease.job || change.status == at) continue;
        EXPECT_TRUE(schemas::legal_move(at, change.status))
            << move.name << ": " << static_cast<int>(at) << " → " << static_cast<int>(change.status);
        made.emplace(at, change.status);
        at = change.status;
      }
      EXPECT_EQ(at, after) << move.name << " from " << from;
      if (is_terminal(before)) {
        EXPECT_EQ(after, before) << move.name;
      }
    }
  }
  for (int from = 0; from <= static_cast<int>(JobStatus::kExpired); ++from) {
    for (int to = 0; to <= static_cast<int>(JobStatus::kExpired); ++to) {
      const auto pair = std::pair(static_cast<JobStatus>(from), static_cast<JobStatus>(to));
      if (schemas::legal_move(pair.first, pair.second)) {
        EXPECT_TRUE(made.contains(pair)) << from << " → " << to << " is legal and nothing makes it";
      }
    }
  }
}

TEST_P(Delivery, AnotherTenantsJobIsNotThere) {
  auto& s = fresh();
  const JobId job = s.submit();
  EXPECT_EQ(s.queries().job("other", job).error().code, Code::kNotFound);
  EXPECT_EQ(s.queries().events("other", job, 0, 9).error().code, Code::kNotFound);
  EXPECT_EQ(s.queries().result("other", job).error().code, Code::kNotFound);
  EXPECT_EQ(s.queries().parts("other", job).error().code, Code::kNotFound);
  EXPECT_TRUE(s.queries().jobs("other", {job})->empty());
  EXPECT_TRUE(s.queries().list("other", {}, 10, {})->items.empty());
  EXPECT_EQ(s.cancel(job, "other").error().code, Code::kNotFound);
  EXPECT_EQ(s.status(job), JobStatus::kQueued);
}

}  // namespace
}  // namespace millrace::storage::testing
