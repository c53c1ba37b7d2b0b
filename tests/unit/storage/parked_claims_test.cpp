// Claims that are parked in the store until the next job (docs/adr/0007).
#include "storage/db/db.h"
#include "tests/support/answer.h"
#include "tests/support/wait_until.h"
#include "tests/unit/storage/job_store.h"
#include "tests/unit/storage/opened_store.h"

namespace millrace::storage::testing {
namespace {

using Claims = support::Answer<std::vector<ClaimedJob>>;

class ParkedClaims : public ::testing::Test {
 protected:
  // The claim is parked when this returns: nothing was ready.
  Claims stand(int count = 1) {
    Claims answer;
    s.claims().claim({.kind = schemas::Kind::kOcr, .worker = "w-1", .count = count, .withdrawn = withdrawn_},
                     answer.take());
    EXPECT_TRUE(write(s.store(), bump, Writer::Priority::kUrgent));
    return answer;
  }
  static std::size_t jobs(Claims& answer) { return answer.wait().value().size(); }

  JobStore s;
  const std::shared_ptr<std::atomic<bool>> withdrawn_ = std::make_shared<std::atomic<bool>>(false);
};

TEST_F(ParkedClaims, TheNextJobIsClaimedInTheCommitThatAcceptsIt) {
  Claims standing = stand();
  const auto before = s.store().stats().groups_total;
  const auto job = s.submit();
  const auto claimed = standing.wait().value();
  ASSERT_EQ(claimed.size(), 1u);
  EXPECT_EQ(claimed[0].lease.job, job);
  EXPECT_EQ(s.store().stats().groups_total, before + 1);
  EXPECT_EQ(s.status(job), JobStatus::kRunning);
}

TEST_F(ParkedClaims, AreNotAmongTheOperationsThatWaitForTheWriter) {
  Claims standing = stand();
  EXPECT_EQ(s.store().stats().queue_depth, 0u);
}

TEST_F(ParkedClaims, DoNotMakeSharedCompletionsDue) {
  std::vector<Claims> standing;
  for (int i = 0; i < 10; ++i) standing.push_back(stand());
  EXPECT_TRUE(support::wait_until([&] { return !s.store().completions_are_due(); }));
}

TEST_F(ParkedClaims, AJobThatWasClaimedInItsOwnCommitIsNotPublishedAsReady) {
  Claims standing = stand();
  s.submit();
  ASSERT_EQ(jobs(standing), 1u);
  EXPECT_TRUE(write(s.store(), bump));  // its commit hook runs after that of the previous group
  const Commit commits = s.commits().all();
  EXPECT_TRUE(commits.ready.empty());
  ASSERT_EQ(commits.changes.size(), 2u);
  EXPECT_EQ(commits.changes[0].status, JobStatus::kQueued);
  EXPECT_EQ(commits.changes[1].status, JobStatus::kRunning);
}

TEST_F(ParkedClaims, TheLeaseCountsFromTheClaimAndNotFromTheParking) {
  Claims standing = stand();
  s.clock.advance(10min);
  s.submit();
  EXPECT_EQ(standing.wait().value().at(0).claimed_at, s.clock.host_boot());
}

TEST_F(ParkedClaims, TakeNoMoreThanTheirCountsAndLeaveTheRestReady) {
  Claims first = stand(2), second = stand(1);
  std::vector<schemas::JobId> all;
  {
    HeldWriter held(s.store());
    for (int i = 0; i < 4; ++i) {
      auto order = s.order();
      all.push_back(order.id);
      s.intake().submit(std::move(order), [](auto&&) {});
    }
  }
  EXPECT_EQ(jobs(first), 2u);
  EXPECT_EQ(jobs(second), 1u);
  EXPECT_EQ(s.claim_one().job, all.back());
}

TEST_F(ParkedClaims, ClaimsThatFindNothingStayParked) {
  Claims first = stand(), second = stand();
  s.submit();
  ASSERT_EQ(jobs(first), 1u);
  s.submit();
  EXPECT_EQ(jobs(second), 1u);
}

TEST_F(ParkedClaims, AClaimThatFindsNothingIsRetriedInItsOwnGroup) {
  Claims claim;
  const auto order = s.order();
  {
    HeldWriter held(s.store());
    s.claims().claim({.kind = schemas::Kind::kOcr, .worker = "w-1", .withdrawn = withdrawn_}, claim.take());
    s.intake().submit(order, [](auto&&) {});
  }
  EXPECT_EQ(claim.wait().value().at(0).lease.job, order.id);
}

TEST_F(ParkedClaims, AWithdrawalInTheGroupOfTheClaimIsApplied) {
  Claims claim;
  {
    HeldWriter held(s.store());
    s.claims().claim({.kind = schemas::Kind::kOcr, .worker = "w-1", .withdrawn = withdrawn_}, claim.take());
    s.store().writer().submit(
        Writer::Priority::kUrgent, 0,
        [this](Tx& tx) -> base::Status {
          *withdrawn_ = true;
          tx.retry_parked_claims = true;
          return {};
        },
        [](const base::Status&) {});
  }
  EXPECT_EQ(jobs(claim), 0u);
}

TEST_F(ParkedClaims, WithdrawnOnesEndWithoutAJob) {
  Claims standing = stand();
  *withdrawn_ = true;
  s.claims().retry_parked_claims();
  EXPECT_EQ(jobs(standing), 0u);
  const auto job = s.submit();
  EXPECT_EQ(s.status(job), JobStatus::kQueued);
}

TEST_F(ParkedClaims, SurviveAGroupThatFailsAndTakeWhatItsOperationsMadeReady) {
  Claims standing = stand();
  support::Answer<Submitted> made;
  {
    HeldWriter held(s.store());
    s.intake().submit(s.order(), made.take());
    s.store().writer().submit(
        Writer::Priority::kNormal, 0,
        [](Tx& tx) -> base::Status {
          tx.db.prepare("INSERT INTO access_version VALUES (2, 0)").run();
          return {};
        },
        [](const base::Status&) {});
  }
  ASSERT_TRUE(made.wait());
  EXPECT_EQ(standing.wait().value().at(0).lease.job, made.wait()->job);
  EXPECT_EQ(s.store().stats().failed_groups_total, 1u);
}

TEST_F(ParkedClaims, AreRefusedWhenTheStoreCloses) {
  Claims standing = stand();
  s.store().close();
  EXPECT_EQ(standing.wait().error().code, base::Code::kOverloaded);
}

}  // namespace
}  // namespace millrace::storage::testing
