// Rule 5: a parent and its children.
#include "tests/contract/store_contract.h"

namespace millrace::storage::testing {
namespace {

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
    ASSERT_EQ(s.split(parent, 2), ReportResult::kApplied);
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
  EXPECT_EQ(s.finish(child), ReportResult::kApplied);
  EXPECT_EQ(s.cancel_orphans(), 1);
  EXPECT_EQ(s.status(parent.job), JobStatus::kCancelled);
  EXPECT_TRUE(s.claim(9).empty());
}

TEST_P(Delivery, Rule05_ChildrenOfAnEndedParentAreCancelledInBoundedStepsAndRunningOnesAreNotified) {
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
  EXPECT_EQ(s.cancelled(child), ReportResult::kApplied);
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

}  // namespace
}  // namespace millrace::storage::testing
