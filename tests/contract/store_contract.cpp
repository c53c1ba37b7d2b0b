#include "tests/contract/store_contract.h"

#include <algorithm>
#include <set>

namespace millrace::storage::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(Stores, Delivery, ::testing::ValuesIn(kStores),
                         [](const auto& kind) { return std::string(kind.param.name); });

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

TEST_P(Delivery, Rule03_AClaimedCommandNeverReturnsToQueuedAndItsSecretGoes) {
  for (const WayBack& way : kWaysBack) {
    auto& s = fresh();
    const Lease lease = s.run_command();
    ASSERT_EQ(s.queries().secret(lease.job).value(), "sealed");
    way.go(s, lease);
    EXPECT_EQ(s.view(lease.job).error->code, Code::kWorkerLost) << way.name;
    EXPECT_EQ(s.queries().secret(lease.job).value(), "") << way.name;
    EXPECT_TRUE(s.claim({.kind = schemas::Kind::kExec, .worker = "w-2", .count = 1, .hints = {}}).empty())
        << way.name;
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
    EXPECT_EQ(s.tell(lease, {{"stdout", "{}"}}), Applied::kLeaseLost);
    EXPECT_EQ(s.total(lease, 3), Applied::kLeaseLost);
    EXPECT_EQ(s.beat({lease}).lost, std::vector<Lease>{lease});
  }
  EXPECT_TRUE(s.queries().part_sizes(kTenant, job)->empty());
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
  const auto page = [&](int index) { return s.queries().part(kTenant, lease.job, index)->bytes; };
  EXPECT_EQ(s.queries().part_sizes(kTenant, lease.job)->size(), 2u);
  EXPECT_EQ(page(0), R"("a")");
  EXPECT_EQ(page(1), R"("b")");
  EXPECT_EQ(s.part(lease, 1, R"("better")", true), Applied::kYes);
  EXPECT_EQ(s.view(lease.job).progress_done, 2);
  EXPECT_EQ(page(1), R"("better")");
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

}  // namespace
}  // namespace millrace::storage::testing
