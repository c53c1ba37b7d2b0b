#include "tests/contract/store_contract.h"

#include <algorithm>
#include <set>

namespace millrace::storage::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(Stores, Delivery, ::testing::ValuesIn(kStores),
                         [](const auto& kind) { return std::string(kind.param.name); });

// Every way in which a running job could return to the queue.
struct WayBack {
  const char* name;
  void (*go)(JobStore&, const Lease&);
};
const WayBack kWaysBack[] = {
    {"retry", [](JobStore& s, const Lease& l) { s.retry(l, plan(1s)); }},
    {"crash", [](JobStore& s, const Lease& l) { s.retry(l, crash_plan()); }},
    {"loss", [](JobStore& s, const Lease& l) { s.retry(l, loss_plan()); }},
    {"drain", [](JobStore& s, const Lease& l) { s.return_to_queue(l); }},
    {"lease", [](JobStore& s, const Lease&) { s.let_leases_end(); }},
    {"worker lock", [](JobStore& s, const Lease&) { s.release_worker(); }},
};

TEST_P(Delivery, Rule01_WhatWasAnsweredIsThereAfterTheStoreIsOpenedAgain) {
  auto& s = fresh();
  const JobId queued = s.submit();
  const JobId other = s.submit();
  const Lease lease = s.claim_one();
  ASSERT_EQ(lease.job, queued);
  ASSERT_EQ(s.finish(lease, R"({"text":"x"})"), ReportResult::kApplied);
  const Lease running = s.claim_one();
  s.reopen();
  EXPECT_EQ(s.queries().result(kTenant, queued)->payload->bytes, R"({"text":"x"})");
  EXPECT_EQ(s.status(other), JobStatus::kRunning);
  EXPECT_EQ(s.finish(running), ReportResult::kApplied);
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
    EXPECT_TRUE(s.claim({.kind = schemas::Kind::kExec, .worker = "w-2", .count = 1}).empty()) << way.name;
  }
}

TEST_P(Delivery, Rule03_AnAtMostOnceJobDoesNotSplit) {
  auto& s = fresh();
  s.submit_at_most_once();
  const Lease lease = s.claim_one();
  const auto split = await<ReportResult>([&](auto done) {
    s.outcomes().split(lease, {{"{}", s.new_id()}}, 1, done);
  });
  EXPECT_EQ(split.error().code, Code::kInvalidState);
  EXPECT_EQ(s.finish(lease), ReportResult::kApplied);
}

TEST_P(Delivery, Rule03_AnAtLeastOnceJobIsRequeuedByEveryTransition) {
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
  EXPECT_EQ(s.split(lease, 3), ReportResult::kCancelled);
  EXPECT_EQ(s.status(lease.job), JobStatus::kCancelled);
  EXPECT_TRUE(s.children(lease.job).empty());
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
    EXPECT_EQ(s.finish(lease), ReportResult::kLeaseLost);
    EXPECT_EQ(s.fail(lease), ReportResult::kLeaseLost);
    EXPECT_EQ(s.cancelled(lease), ReportResult::kLeaseLost);
    EXPECT_EQ(s.expired(lease), ReportResult::kLeaseLost);
    EXPECT_EQ(s.retry(lease, plan()), ReportResult::kLeaseLost);
    EXPECT_EQ(s.return_to_queue(lease), ReportResult::kLeaseLost);
    EXPECT_EQ(s.split(lease, 2), ReportResult::kLeaseLost);
    EXPECT_EQ(s.part(lease, 0), ReportResult::kLeaseLost);
    EXPECT_EQ(s.append_events(lease, {{"stdout", "{}"}}), ReportResult::kLeaseLost);
    EXPECT_EQ(s.total(lease, 3), ReportResult::kLeaseLost);
    EXPECT_EQ(s.beat({lease}).lost, std::vector<Lease>{lease});
  }
  EXPECT_TRUE(s.queries().part_sizes(kTenant, job)->empty());
  EXPECT_EQ(s.view(job).progress_total, 0);
  EXPECT_EQ(s.finish(held), ReportResult::kApplied);
}

TEST_P(Delivery, Rule06_WritesAboutAJobThatDoesNotRunAreRefused) {
  auto& s = fresh();
  const JobId job = s.submit();
  const Lease never{job, 0, base::Uuid::make(s.clock.wall())};
  EXPECT_EQ(s.finish(never), ReportResult::kLeaseLost);
  EXPECT_EQ(s.split(never, 1), ReportResult::kLeaseLost);
  EXPECT_EQ(s.part(never, 0), ReportResult::kLeaseLost);
  EXPECT_EQ(s.finish(Lease{s.new_id(), 1, never.token}), ReportResult::kLeaseLost);
  EXPECT_EQ(s.status(job), JobStatus::kQueued);
}

TEST_P(Delivery, Rule06_PartialPagesAreIdempotentByJobAndPage) {
  auto& s = fresh();
  const Lease lease = s.submit_and_claim();
  s.total(lease, 2);
  EXPECT_EQ(s.part(lease, 1, R"("b")"), ReportResult::kApplied);
  EXPECT_EQ(s.part(lease, 1, R"("again")"), ReportResult::kApplied);
  EXPECT_EQ(s.part(lease, 0, R"("a")"), ReportResult::kApplied);
  EXPECT_EQ(s.view(lease.job).progress_done, 2);
  const auto page = [&](int index) { return s.queries().part(kTenant, lease.job, index)->bytes; };
  EXPECT_EQ(s.queries().part_sizes(kTenant, lease.job)->size(), 2u);
  EXPECT_EQ(page(0), R"("a")");
  EXPECT_EQ(page(1), R"("b")");
  EXPECT_EQ(s.part(lease, 1, R"("better")", true), ReportResult::kApplied);
  EXPECT_EQ(s.view(lease.job).progress_done, 2);
  EXPECT_EQ(page(1), R"("better")");
}

TEST_P(Delivery, Rule06_AFinishWhoseReplyWasLostIsASuccessWhenRepeated) {
  auto& s = fresh();
  const Lease lease = s.submit_and_claim();
  EXPECT_EQ(s.finish(lease, "1"), ReportResult::kApplied);
  EXPECT_EQ(s.finish(lease, "2"), ReportResult::kRepeated);
  EXPECT_EQ(s.queries().result(kTenant, lease.job)->payload->bytes, "1");
}

}  // namespace
}  // namespace millrace::storage::testing
