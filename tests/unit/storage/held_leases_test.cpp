#include <algorithm>

#include "storage/admin/admin_queries.h"
#include "tests/unit/storage/job_store.h"

namespace millrace::storage::testing {
namespace {

WorkerLeases held_by(JobStore& s, const std::string& worker) {
  std::vector<WorkerLeases> all = AdminQueries(s.store()).leases().value();
  for (WorkerLeases& each : all) {
    if (each.worker == worker) return std::move(each);
  }
  return {};
}

HeldLease the_only_one(JobStore& s) {
  const WorkerLeases held = held_by(s, "w-1");
  EXPECT_EQ(held.held, 1);
  EXPECT_EQ(held.leases.size(), 1u);
  return held.leases.empty() ? HeldLease{} : held.leases.front();
}

TEST(HeldLeases, AWorkerIsShownWithTheAttemptsThatItRunsAndNothingElse) {
  JobStore s;
  const auto job = s.submit();
  s.submit();  // waits
  const Lease lease = s.claim_one();
  s.clock.advance(2s);
  const HeldLease shown = the_only_one(s);
  EXPECT_EQ(shown.job, job);
  EXPECT_EQ(shown.tenant, kTenant);
  EXPECT_EQ(shown.attempt, 1);
  EXPECT_EQ(shown.since, s.clock.wall() - 2s);
  EXPECT_EQ(shown.remaining, kLease - 2s);
  EXPECT_FALSE(shown.part);
  s.finish(lease);
  EXPECT_TRUE(AdminQueries(s.store()).leases().value().empty());
}

TEST(HeldLeases, AHeartbeatRenewsTheRemainingTimeAndNotTheStart) {
  JobStore s;
  const Lease lease = s.submit_and_claim();
  s.clock.advance(5s);
  s.beat({lease});
  EXPECT_EQ(the_only_one(s).remaining, kLease);
  EXPECT_EQ(the_only_one(s).since, s.clock.wall() - 5s);
}

TEST(HeldLeases, AnExpiredLeaseIsShownUntilMaintenanceExpiresIt) {
  JobStore s;
  s.submit_and_claim();
  s.clock.advance(kLease + 3s);
  EXPECT_EQ(the_only_one(s).remaining, -3s);
}

TEST(HeldLeases, OneOfAnotherBootHasNoKnownEnd) {
  JobStore s;
  s.submit_and_claim();
  s.clock.reboot("boot-2");
  EXPECT_EQ(the_only_one(s).remaining, std::nullopt);
}

TEST(HeldLeases, ALaterAttemptIsShownSinceItBegan) {
  JobStore s;
  s.return_to_queue(s.submit_and_claim());
  s.clock.advance(1min);
  s.claim_one();
  s.clock.advance(4s);
  const HeldLease shown = the_only_one(s);
  EXPECT_EQ(shown.attempt, 2);
  EXPECT_EQ(shown.since, s.clock.wall() - 4s);
}

TEST(HeldLeases, OfAPartTheJobIsShownAndWhichPartItIs) {
  JobStore s;
  const Lease parent = s.submit_and_claim();
  s.split(parent, 3);
  s.claim(2);
  const WorkerLeases held = held_by(s, "w-1");
  ASSERT_EQ(held.leases.size(), 2u);
  EXPECT_EQ(held.leases[0].job, parent.job);
  EXPECT_EQ(held.leases[0].part, 0);
  EXPECT_EQ(held.leases[1].part, 1);
}

TEST(HeldLeases, OfManyThoseThatEndFirstAreShownAndAllAreCounted) {
  JobStore s;
  const int more = static_cast<int>(kLeasesShownMax) + 2;
  for (int i = 0; i < more; ++i) s.submit();
  std::vector<Lease> leases;
  for (const ClaimedJob& each : s.claim(more)) leases.push_back(each.lease);
  s.clock.advance(1s);
  const Lease late = leases.back();
  leases.pop_back();
  s.beat(leases);
  const WorkerLeases held = held_by(s, "w-1");
  EXPECT_EQ(held.held, more);
  ASSERT_EQ(held.leases.size(), kLeasesShownMax);
  const auto is_late = [&](const HeldLease& each) { return each.job == late.job; };
  EXPECT_TRUE(std::ranges::any_of(held.leases, is_late));
  EXPECT_TRUE(std::ranges::is_sorted(held.leases, {}, &HeldLease::job));
}

TEST(HeldLeases, LeasesOfEarlierBootsAreListedFirst) {
  JobStore s;
  std::vector<schemas::JobId> over;
  for (const char* boot : {"boot-2", "boot-3", "boot-4"}) {
    over.push_back(s.submit_and_claim().job);
    s.clock.reboot(boot);
  }
  const int more = static_cast<int>(kLeasesShownMax);
  for (int i = 0; i < more; ++i) s.submit();
  s.claim(more);
  const WorkerLeases held = held_by(s, "w-1");
  ASSERT_EQ(held.leases.size(), kLeasesShownMax);
  for (const schemas::JobId& job : over) {
    const auto is_it = [&](const HeldLease& each) { return each.job == job && !each.remaining; };
    EXPECT_TRUE(std::ranges::any_of(held.leases, is_it));
  }
}

}  // namespace
}  // namespace millrace::storage::testing
