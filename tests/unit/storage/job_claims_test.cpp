#include "storage/jobs/job_claims.h"

#include <algorithm>
#include <set>

#include <sqlite3.h>

#include "storage/db/db.h"
#include "storage/jobs/claim_order.h"
#include "tests/unit/storage/job_store.h"
#include "tests/unit/storage/opened_store.h"

namespace millrace::storage::testing {
namespace {

using schemas::JobId;

TEST(JobClaims, AClaimTakesNoMoreThanItsCount) {
  JobStore s;
  for (int i = 0; i < 5; ++i) s.submit();
  EXPECT_EQ(s.claim(2).size(), 2u);
  EXPECT_EQ(s.claim(9).size(), 3u);
  EXPECT_TRUE(s.claim(1).empty());
}

TEST(JobClaims, AReservedSlotIsForTheTenantThatRunsNothingHoweverManyOthersWait) {
  JobStore s;
  constexpr int kBusy = kTenantsCompared + 8;
  const auto name = [](int number) { return "t" + std::to_string(100 + number); };
  for (int job = 0; job < 2; ++job) {
    for (int i = 0; i < kBusy; ++i) s.submit(s.order(name(i)));
  }
  ASSERT_EQ(s.claim(kBusy).size(), static_cast<std::size_t>(kBusy));
  ASSERT_TRUE(s.claim(0, 1).empty());
  const auto idle = s.submit(s.order(name(kBusy - 2) + "-idle"));  // just before the tenant served last
  const auto claimed = s.claim(0, 1);
  ASSERT_EQ(claimed.size(), 1u);
  EXPECT_EQ(claimed[0].lease.job, idle);
}

TEST(JobClaims, EveryClaimHasATokenOfItsOwn) {
  JobStore s;
  s.submit();
  const Lease first = s.claim_one();
  s.return_to_queue(first);
  const Lease second = s.claim_one();
  EXPECT_EQ(second.attempt, 2);
  EXPECT_NE(second.token, first.token);
}

TEST(JobClaims, AJobPastItsDeadlineIsExpiredByTheClaimThatMeetsIt) {
  JobStore s;
  auto order = s.order();
  order.deadline_after = 1min;
  const auto late = s.submit(order);
  const auto good = s.submit();
  s.clock.advance(1min);
  const auto claimed = s.claim(1);
  ASSERT_EQ(claimed.size(), 1u);
  EXPECT_EQ(claimed[0].lease.job, good);
  EXPECT_EQ(s.status(late), JobStatus::kExpired);
}

TEST(JobClaims, AQueueFullOfOverdueJobsIsNotWalkedByOneClaim) {
  JobStore s;
  auto order = s.order();
  order.deadline_after = 1min;
  for (int i = 0; i < 100; ++i) {
    order.id = s.new_id();
    s.submit(order);
  }
  s.clock.advance(1min);
  const auto good = s.submit();
  EXPECT_TRUE(s.claim(1).empty());
  EXPECT_EQ(s.claim_one().job, good);
}

TEST(JobClaims, WhatIsOverdueAfterAJumpStaysAndKeepsNoOtherTenantWaiting) {
  JobStore s;
  auto order = s.order("a");
  order.deadline_after = 1h;
  const auto kept = s.submit(order);
  s.clock.advance(2h);
  s.clock.jump_wall(2h);
  const auto good = s.submit(s.order("b"));
  EXPECT_EQ(s.claim_one().job, good);
  EXPECT_TRUE(s.claim(1).empty());
  EXPECT_EQ(s.status(kept), JobStatus::kQueued);
  s.clock.advance(1min);
  EXPECT_TRUE(s.claim(1).empty());
  EXPECT_EQ(s.status(kept), JobStatus::kExpired);
}

TEST(JobClaims, ADelayedRetryIsClaimedOnlyAfterItsTime) {
  JobStore s;
  const Lease lease = s.submit_and_claim();
  RetryPlan plan;
  plan.delay = 10s;
  s.retry(lease, plan);
  EXPECT_EQ(s.release_due(), 0);
  EXPECT_TRUE(s.claim(1).empty());
  s.clock.advance(10s);
  EXPECT_EQ(s.release_due(), 1);
  EXPECT_EQ(s.claim_one().job, lease.job);
}

TEST(JobClaims, ThePositionOfTheTenantsSurvivesARestart) {
  JobStore s;
  s.submit(s.order("a"));
  s.submit(s.order("a"));
  const auto b = s.submit(s.order("b"));
  s.claim_one();
  s.reopen();
  EXPECT_EQ(s.claim_one().job, b);
}

void queue_jobs(JobStore& s, schemas::Kind kind, const std::string& tenant, int count) {
  ASSERT_TRUE(write(s.store(), [=, now = base::millis(s.clock.wall())](Tx& tx) {
    tx.db
        .prepare(R"(
            INSERT INTO jobs (id, tenant, kind, status, priority, rerun, deadline, created_at, model)
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
            SELECT randomblob(16), ?2, ?3, 0, 0, 0, ?4 + 86400000, ?4, 'm' FROM n)")
        .bind(count, tenant, kind, now)
        .run();
    return base::Status{};
  }));
}

// The steps of SQLite's virtual machine that the writer's statements have run.
std::int64_t steps(JobStore& s) {
  std::int64_t sum = 0;
  EXPECT_TRUE(write(s.store(), [&sum](Tx& tx) {
    sqlite3* db = sqlite_handle(tx.db);
    for (auto* each = sqlite3_next_stmt(db, nullptr); each != nullptr; each = sqlite3_next_stmt(db, each))
      sum += sqlite3_stmt_status(each, SQLITE_STMTSTATUS_VM_STEP, 0);
    return base::Status{};
  }));
  return sum;
}

struct FreeLanes final : ClaimLanes {
  struct Free final : Permit {
    void leave() override {}
  };
  PermitPtr take(const std::string& /*lane*/, const std::string& /*tenant*/) override {
    return std::make_shared<Free>();
  }
};

// The cost of the next claim when tenant `a` holds four slots and has a backlog, and `b` submits its first
// job.
std::int64_t cost_of_next_claim(schemas::Kind kind, int backlog) {
  JobStore s;
  queue_jobs(s, kind, "a", backlog);
  JobClaims::Request request{.kind = kind, .worker = "w-1", .count = 4};
  request.lanes = std::make_shared<FreeLanes>();
  const auto running = s.claim(request);
  EXPECT_EQ(running.size(), 4u);
  s.finish(running.at(0).lease);
  auto order = s.order("b");
  order.id = s.new_id(kind);
  order.model = "m";
  const auto first = s.submit(order);
  request.count = 1;
  const auto before = steps(s);
  const auto next = s.claim(request);
  EXPECT_EQ(next.at(0).lease.job, first);
  return steps(s) - before;
}

TEST(JobClaims, BehindAHundredThousandJobsOfATenantTheFirstOfAnotherIsTheVeryNextClaimAtNoMoreCost) {
  for (const auto kind : {schemas::Kind::kOcr, schemas::Kind::kChat})
    EXPECT_EQ(cost_of_next_claim(kind, 100'000), cost_of_next_claim(kind, 100)) << schemas::name(kind);
}

TEST(JobClaims, ATenantThatWaitsAloneIsNotCompared) {
  const auto cost = [](int running) {
    JobStore s;
    queue_jobs(s, schemas::Kind::kOcr, "a", 100);
    s.claim(running);
    s.claim(1);
    const auto before = steps(s);
    s.claim(1);
    return steps(s) - before;
  };
  EXPECT_EQ(cost(50), cost(1));
}

TEST(JobClaims, EveryTenantIsReachedHoweverManyRunEquallyMany) {
  JobStore s;
  constexpr int kTenants = 3 * kTenantsCompared;
  for (int i = 0; i < kTenants; ++i) queue_jobs(s, schemas::Kind::kOcr, "t" + std::to_string(i), 4);
  s.claim(kTenants);  // each runs one
  std::set<std::string> served;
  for (int i = 0; i < kTenants; ++i) served.insert(s.claim(1).at(0).tenant);
  EXPECT_EQ(served.size(), std::size_t{kTenants});
}

// A document that was split into `shares` parts, none of which has run.
JobId long_document(JobStore& s, int shares, const std::string& tenant = kTenant, int priority = 0) {
  auto order = s.order(tenant);
  order.priority = priority;
  s.submit(order);
  const Lease parent = s.claim_one();
  EXPECT_EQ(s.split(parent, shares), ReportResult::kApplied);
  return parent.job;
}

// "share 2" of any document, or the index of the job in `others`.
std::string named(const ClaimedJob& job, const std::vector<JobId>& others) {
  if (job.parent) return "share " + std::to_string(job.child_index);
  const auto at = std::find(others.begin(), others.end(), job.lease.job);
  return at == others.end() ? "parent" : "other " + std::to_string(at - others.begin());
}

using Names = std::vector<std::string>;

Names claim_all(JobStore& s, const std::vector<JobId>& others) {
  Names names;
  for (auto claimed = s.claim(1); !claimed.empty(); claimed = s.claim(1))
    names.push_back(named(claimed[0], others));
  return names;
}

TEST(LongDocuments, AfterTheirFirstPartsTheyAlternateWithLaterJobs) {
  JobStore s;
  long_document(s, 7);
  const std::vector<JobId> others{s.submit(), s.submit(), s.submit()};
  EXPECT_EQ(claim_all(s, others), (Names{"share 0", "share 1", "other 0", "share 2", "other 1", "share 3",
                                         "other 2", "share 4", "share 5", "share 6"}));
}

TEST(LongDocuments, AlternateWithinOneClaimOfManyJobs) {
  JobStore s;
  long_document(s, 5);
  const std::vector<JobId> others{s.submit(), s.submit()};
  Names names;
  for (const ClaimedJob& each : s.claim(9)) names.push_back(named(each, others));
  EXPECT_EQ(names, (Names{"share 0", "share 1", "other 0", "share 2", "other 1", "share 3", "share 4"}));
}

TEST(LongDocuments, GoOnHoweverMuchComesAfterThem) {
  JobStore s;
  long_document(s, 6);
  s.claim(2);
  int shares = 0;
  for (int i = 0; i < 8; ++i) {
    s.submit();
    s.submit();
    shares += s.claim(1).at(0).parent ? 1 : 0;
  }
  EXPECT_EQ(shares, 4);
}

TEST(LongDocuments, ManyOfThemHoldUpAnotherJobNoMoreThanOneDoes) {
  JobStore s;
  for (int i = 0; i < 20; ++i) s.submit();
  for (const ClaimedJob& parent : s.claim(20)) s.split(parent.lease, 10);
  s.claim(80);  // the first parts of all documents, and as many late parts of the oldest one
  const std::vector<JobId> others{s.submit()};
  Names names;
  for (const ClaimedJob& each : s.claim(2)) names.push_back(named(each, others));
  EXPECT_NE(std::find(names.begin(), names.end(), "other 0"), names.end());
}

TEST(LongDocuments, DoNotDelayTheFirstPartsOfOthers) {
  JobStore s;
  long_document(s, 9);
  s.claim(2);
  const JobId second = long_document(s, 3);
  std::vector<std::pair<bool, int>> order;
  for (const ClaimedJob& each : s.claim(5))
    order.emplace_back(each.parent->uuid == second.uuid, each.child_index);
  // The last claim took a part of the second document before the first one, so the first document comes next.
  EXPECT_EQ(order,
            (std::vector<std::pair<bool, int>>{{false, 2}, {true, 0}, {false, 3}, {true, 1}, {false, 4}}));
}

TEST(LongDocuments, AlternatePerTenant) {
  JobStore s;
  for (const char* tenant : {"a", "b"}) long_document(s, 6, tenant);
  s.claim(4);
  for (const char* tenant : {"a", "a", "b", "b"}) s.submit(s.order(tenant));
  Names names;
  for (const ClaimedJob& each : s.claim(8))
    names.push_back(each.tenant + (each.parent ? " share" : " other"));
  EXPECT_EQ(names,
            (Names{"a other", "b other", "a share", "b share", "a other", "b other", "a share", "b share"}));
}

TEST(LongDocuments, AreBehindAHigherAndBeforeALowerPriority) {
  JobStore s;
  long_document(s, 4, kTenant, 1);
  s.claim(2);
  std::vector<JobId> others{s.submit()};
  auto urgent = s.order();
  urgent.priority = 2;
  others.push_back(s.submit(urgent));
  EXPECT_EQ(claim_all(s, others), (Names{"other 1", "share 2", "share 3", "other 0"}));
}

TEST(LongDocuments, TheirPositionSurvivesARestart) {
  JobStore s;
  long_document(s, 5);
  s.claim(2);
  const std::vector<JobId> others{s.submit(), s.submit()};
  EXPECT_EQ(s.claim_one().job, others[0]);
  s.reopen();
  EXPECT_TRUE(s.claim(1).at(0).parent.has_value());
  EXPECT_EQ(s.claim_one().job, others[1]);
}

TEST(LongDocuments, WhatIsDoneWithThemIsPutTogetherAtOnce) {
  JobStore s;
  const JobId first = long_document(s, 1);
  const Lease only = s.claim_one();
  long_document(s, 5);
  s.claim(2);
  s.submit();
  s.finish(only);
  EXPECT_EQ(s.claim_one().job, first);
}

TEST(JobClaims, AHeartbeatRenewsHeldLeasesAndNamesLostOnes) {
  JobStore s;
  const Lease kept = s.submit_and_claim();
  const Lease other = s.submit_and_claim();
  for (int i = 0; i < 6; ++i) {
    s.clock.advance(5s);
    EXPECT_TRUE(s.beat({kept}).lost.empty());
  }
  EXPECT_EQ(s.expire_leases(), 1);
  const auto reply = s.beat({kept, other});
  EXPECT_EQ(reply.lost, std::vector<Lease>{other});
  EXPECT_EQ(s.finish(other), ReportResult::kLeaseLost);
  EXPECT_EQ(s.finish(kept), ReportResult::kApplied);
}

TEST(JobClaims, AHeartbeatDistinguishesALostLeaseFromALaterOneOfTheSameJob) {
  JobStore s;
  const Lease lost = s.submit_and_claim();
  EXPECT_EQ(s.return_to_queue(lost), ReportResult::kApplied);
  const Lease later = s.claim_one();
  ASSERT_EQ(later.job, lost.job);
  EXPECT_EQ(s.beat({lost, later}).lost, std::vector<Lease>{lost});
  EXPECT_EQ(s.finish(later), ReportResult::kApplied);
}

TEST(JobClaims, ALateHeartbeatKeepsALeaseThatHasNotExpired) {
  JobStore s;
  const Lease lease = s.submit_and_claim();
  s.clock.advance(1min);
  EXPECT_TRUE(s.beat({lease}).lost.empty());
  EXPECT_EQ(s.expire_leases(), 0);
  EXPECT_EQ(s.finish(lease), ReportResult::kApplied);
}

TEST(JobClaims, LeasesOfAnotherBootAreOverAtOnce) {
  JobStore s;
  const Lease lease = s.submit_and_claim();
  s.clock.reboot("boot-2");
  s.reopen();
  EXPECT_EQ(s.expire_leases(), 1);
  EXPECT_EQ(s.status(lease.job), JobStatus::kQueued);
}

TEST(JobClaims, LeasesWaitOneLeaseAfterTheProcessStoodStill) {
  JobStore s;
  s.clock.advance(30s);
  s.submit();
  const Lease lease = s.claim_one();
  s.clock.advance(1min);
  EXPECT_EQ(s.expire_leases(), 0);
  EXPECT_EQ(s.let_leases_end(), 1);
  EXPECT_EQ(s.status(lease.job), JobStatus::kQueued);
}

TEST(JobClaims, LeasesWaitOneLeaseAfterAJumpOfTheWallClock) {
  JobStore s;
  s.submit_and_claim();
  for (int i = 0; i < 5; ++i) {
    s.clock.advance(5s);
    s.release_due();
  }
  s.clock.jump_wall(1h);
  EXPECT_EQ(s.expire_leases(), 0);
  EXPECT_EQ(s.let_leases_end(), 1);
}

TEST(JobClaims, OnlyADeadWorkersJobsAreReleasedAtOnce) {
  JobStore s;
  s.submit();
  s.submit();
  const auto mine = s.claim({schemas::Kind::kOcr, "w-1", 1});
  const auto others = s.claim({schemas::Kind::kOcr, "w-2", 1});
  EXPECT_EQ(s.release_worker("w-1"), 1);
  EXPECT_EQ(s.status(mine.at(0).lease.job), JobStatus::kQueued);
  EXPECT_EQ(s.status(others.at(0).lease.job), JobStatus::kRunning);
  EXPECT_EQ(s.release_worker("w-1"), 0);
}

TEST(JobClaims, AWorkerThatRetiresLeavesNoFreeSlots) {
  JobStore s(true);
  s.beat({}, 100, 0);
  EXPECT_TRUE(await<bool>([&](auto done) { s.claims().retire("w-1", done); }).value());
  for (int i = 0; i < 12; ++i) s.submit();
  ASSERT_TRUE(support::wait_until([&] { return s.commits().all().changes.size() == 12; }));
  EXPECT_EQ(s.commits().all().ready.size(), 8u);
}

}  // namespace
}  // namespace millrace::storage::testing
