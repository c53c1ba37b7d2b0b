#include <algorithm>
#include <set>

#include "tests/contract/store_contract.h"
#include "tests/support/answer.h"
#include "tests/support/legal_moves.h"

namespace millrace::storage::testing {
namespace {

// Rules 10 to 12, all transitions together, and tenants.
class DeliveryOrder : public Delivery {};

INSTANTIATE_TEST_SUITE_P(Stores, DeliveryOrder, ::testing::ValuesIn(kStores),
                         [](const auto& kind) { return std::string(kind.param.name); });

TEST_P(DeliveryOrder, Rule10_ATokenMayClaimWhileAJobOfItsKindIsReady) {
  auto& s = fresh();
  const auto ready = [&](schemas::Kind kind) { return has_ready_jobs(s.store(), kind).value(); };
  EXPECT_FALSE(ready(schemas::Kind::kOcr));
  s.submit();
  EXPECT_TRUE(ready(schemas::Kind::kOcr));
  EXPECT_FALSE(ready(schemas::Kind::kStt));
  s.retry(s.claim_one(), plan(5s));
  EXPECT_FALSE(ready(schemas::Kind::kOcr));
}

TEST_P(DeliveryOrder, AJobThatReturnsGoesFirstAgainHoweverManyWereClaimedSince) {
  auto& s = fresh();
  constexpr int kJobs = 301;
  std::vector<JobId> jobs;
  for (int i = 0; i < kJobs; ++i) jobs.push_back(s.submit());
  s.clock.advance(5s);
  std::vector<ClaimedJob> claimed;
  for (int claims = 0; claims < 6; ++claims) {
    for (ClaimedJob& each : s.claim(50)) claimed.push_back(std::move(each));
  }
  ASSERT_EQ(claimed[7].lease.job, jobs[7]);
  EXPECT_EQ(s.return_to_queue(claimed[7].lease), ReportResult::kApplied);
  const auto after = s.claim(2);
  ASSERT_EQ(after.size(), 2u);
  EXPECT_EQ(after[0].lease.job, jobs[7]);
  EXPECT_EQ(after[1].lease.job, jobs[kJobs - 1]);
  EXPECT_TRUE(s.claim(1).empty());
  s.clock.advance(5s);
  const JobId young = s.submit();
  EXPECT_EQ(s.return_to_queue(claimed[3].lease), ReportResult::kApplied);
  const auto last = s.claim(3);
  ASSERT_EQ(last.size(), 2u);
  EXPECT_EQ(last[0].lease.job, jobs[3]);
  EXPECT_EQ(last[1].lease.job, young);
}

std::vector<ReadyJob> take(JobStore& s) {
  return await<std::vector<ReadyJob>>(
             [&](auto done) { s.upkeep().select_for_publication(schemas::Kind::kOcr, done); })
      .value();
}
bool report(JobStore& s, const JobId& job, std::int64_t epoch, bool delivered) {
  return await<bool>([&](auto done) { s.upkeep().record_publication(job, epoch, delivered, done); }).value();
}
std::vector<ReadyJob> republish_lost(JobStore& s) {
  return await<std::vector<ReadyJob>>(
             [&](auto done) { s.upkeep().republish_lost(schemas::Kind::kOcr, 10s, 100, done); })
      .value();
}
std::vector<ReadyJob> republish_outbox(JobStore& s) {
  return await<std::vector<ReadyJob>>([&](auto done) { s.upkeep().republish_outbox(100, done); }).value();
}
bool notified_ready(JobStore& s, std::size_t count) {
  return support::wait_until([&] { return s.commits().all().ready.size() >= count; });
}

TEST_P(DeliveryOrder, Rule10_TheWindowIsCountedInTheStoreAndTheRestWaitsThere) {
  auto& s = fresh(true);
  std::vector<JobId> jobs;
  for (int i = 0; i < 12; ++i) jobs.push_back(s.submit());
  EXPECT_TRUE(take(s).empty());
  ASSERT_TRUE(notified_ready(s, 8));
  EXPECT_EQ(s.commits().all().ready.size(), 8u);  // the smallest window; no worker has free slots
  const auto claimed = s.claim(3);
  ASSERT_EQ(claimed.size(), 3u);
  const auto more = take(s);
  ASSERT_EQ(more.size(), 3u);
  EXPECT_EQ(more[0].job, jobs[8]);
  EXPECT_EQ(more[2].job, jobs[10]);
  EXPECT_EQ(more[0].traceparent, "00-trace");
  s.beat({}, 10, 0);
  EXPECT_EQ(take(s).size(), 1u);  // 2 × 10 free slots
}

struct OnlyIdle final : ClaimLanes {
  struct Free final : Permit {
    void leave() override {}
  };
  PermitPtr take(const std::string& lane, const std::string& /*tenant*/) override {
    return lane == "idle" ? std::make_shared<Free>() : nullptr;
  }
};

TEST_P(DeliveryOrder, Rule10_AJobOfALaneThatHasNoTokenGetsOneWhateverFillsTheWindow) {
  auto& s = fresh(true);
  const auto completion = [&](const std::string& model) {
    auto order = s.order();
    order.id = s.new_id(schemas::Kind::kChat);
    order.model = model;
    return s.submit(std::move(order));
  };
  for (int i = 0; i < 12; ++i) completion("busy");
  const JobId first = completion("idle");
  completion("idle");
  s.claim({.kind = schemas::Kind::kChat, .worker = "w-1", .lanes = std::make_shared<OnlyIdle>()});
  const JobId next = completion("idle");
  completion("busy");
  ASSERT_TRUE(notified_ready(s, 10));
  const auto ready = s.commits().all().ready;
  ASSERT_EQ(ready.size(), 10u);  // the smallest window plus these
  EXPECT_EQ(ready[8].job, first);
  EXPECT_EQ(ready[9].job, next);
}

TEST_P(DeliveryOrder, Rule10_ADeliveryReportClearsItsJobAndEpochOnly) {
  auto& s = fresh(true);
  const JobId job = s.submit();
  EXPECT_FALSE(report(s, job, 2, true));
  EXPECT_TRUE(report(s, job, 1, true));
  EXPECT_FALSE(report(s, job, 1, true));
  s.clock.advance(1s);
  EXPECT_TRUE(republish_outbox(s).empty());
}

TEST_P(DeliveryOrder, Rule10_AFailedPublicationMayBePublishedAgain) {
  auto& s = fresh(true);
  const JobId job = s.submit();
  EXPECT_TRUE(take(s).empty());
  EXPECT_TRUE(report(s, job, 1, false));
  const auto again = take(s);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].job, job);
}

TEST_P(DeliveryOrder, Rule10_WhatAnEarlierProcessLeftMarkedIsPublishedAgain) {
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

TEST_P(DeliveryOrder, Rule10_ALostTokenIsPublishedAgainOnlyAfterASlotWasFreeForFiveSeconds) {
  auto& s = fresh(true);
  const JobId job = s.submit();
  report(s, job, 1, true);
  s.clock.advance(11s);
  EXPECT_TRUE(republish_lost(s).empty());  // no worker is live
  s.beat({}, 2, 2);
  s.clock.advance(6s);
  s.beat({}, 2, 2);
  EXPECT_TRUE(republish_lost(s).empty());  // no worker has free slots
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

TEST_P(DeliveryOrder, Rule10_WithoutAnOutboxEveryReadyJobIsAnnouncedByItsCommit) {
  auto& s = fresh();
  for (int i = 0; i < 12; ++i) s.submit();
  ASSERT_TRUE(notified_ready(s, 12));
  s.retry(s.claim_one(), plan(5s));
  s.clock.advance(5s);
  EXPECT_EQ(s.release_due(), 1);
  ASSERT_TRUE(notified_ready(s, 13));
  EXPECT_EQ(s.commits().all().ready.back().epoch, 2);
}

JobId submit_as(JobStore& s, const std::string& tenant, int priority = 0) {
  auto order = s.order(tenant);
  order.priority = priority;
  return s.submit(std::move(order));
}

TEST_P(DeliveryOrder, Rule11_TenantsAreServedInTurnAndWithinATenantByPriorityThenAge) {
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

TEST_P(DeliveryOrder, Rule11_ThePublisherPassesOverALongDocumentInTurnAsAWorkerDoes) {
  auto& s = fresh(true);
  const Lease parent = s.submit_and_claim();
  s.split(parent, 12);  // eight of them fill the window
  const std::vector<JobId> others{s.submit(), s.submit()};
  s.beat({}, 7, 0);  // the window is 14 now
  std::vector<bool> is_other;
  for (const auto& ready : take(s))
    is_other.push_back(std::find(others.begin(), others.end(), ready.job) != others.end());
  EXPECT_EQ(is_other, (std::vector<bool>{true, false, true, false, false, false}));
}

TEST_P(DeliveryOrder, Rule11_ThePublisherTakesJobsInTheOrderInWhichAWorkerWould) {
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
      s.beat({}, 8, 0);  // the window is 16 now
      for (const auto& ready : take(s)) order.push_back(ready.job);
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

std::vector<std::string> tenants_of(const std::vector<ClaimedJob>& claimed) {
  std::vector<std::string> tenants;
  for (const ClaimedJob& job : claimed) tenants.push_back(job.tenant);
  return tenants;
}

TEST_P(DeliveryOrder, Rule11_TheTenantThatRunsTheFewestJobsOfTheKindIsServedFirst) {
  auto& s = fresh();
  for (int i = 0; i < 9; ++i) submit_as(s, "a");
  auto running = s.claim(4);
  for (int i = 0; i < 9; ++i) submit_as(s, "b");
  std::vector<std::string> served;
  for (const int end : {0, 1, 2}) {
    s.finish(running[static_cast<std::size_t>(end)].lease);
    served.push_back(s.claim(1).at(0).tenant);
  }
  EXPECT_EQ(served, (std::vector<std::string>{"b", "b", "a"}));
}

TEST_P(DeliveryOrder, Rule11_ATenantOfShortJobsKeepsItsShareBesideOneOfLongJobs) {
  auto& s = fresh();
  for (int i = 0; i < 9; ++i) submit_as(s, "long");
  for (int i = 0; i < 9; ++i) submit_as(s, "short");
  auto claimed = s.claim(2);
  ASSERT_EQ(tenants_of(claimed), (std::vector<std::string>{"long", "short"}));
  Lease short_job = claimed[1].lease;
  for (int i = 0; i < 5; ++i) {
    s.finish(short_job);
    const auto next = s.claim(1);
    ASSERT_EQ(tenants_of(next), std::vector<std::string>{"short"});
    short_job = next[0].lease;
  }
}

TEST_P(DeliveryOrder, Rule11_JobsOfOtherKindsDoNotCount) {
  auto& s = fresh();
  for (int i = 0; i < 4; ++i) s.submit(s.command("dm-" + std::to_string(i)));
  EXPECT_EQ(s.claim({.kind = schemas::Kind::kExec, .worker = "w-1", .count = 4}).size(), 4u);
  submit_as(s, kTenant);
  submit_as(s, "other");
  EXPECT_EQ(tenants_of(s.claim(2)), (std::vector<std::string>{kTenant, "other"}));
}

TEST_P(DeliveryOrder, Rule11_AReservedSlotIsForATenantThatRunsNothingOfTheKind) {
  auto& s = fresh();
  for (int i = 0; i < 9; ++i) submit_as(s, "a");
  EXPECT_EQ(tenants_of(s.claim(2, 4)), (std::vector<std::string>{"a", "a"}));
  EXPECT_TRUE(s.claim(0, 4).empty());
  for (int i = 0; i < 2; ++i) submit_as(s, "b");
  submit_as(s, "c");
  EXPECT_EQ(tenants_of(s.claim(0, 4)), (std::vector<std::string>{"b", "c"}));
  EXPECT_TRUE(s.claim(0, 4).empty());
}

TEST_P(DeliveryOrder, Rule11_AParkedClaimForReservedSlotsWaitsForATenantThatRunsNothing) {
  auto& s = fresh();
  for (int i = 0; i < 3; ++i) submit_as(s, "a");
  s.claim(2);
  JobClaims::Request parked{.kind = schemas::Kind::kOcr, .worker = "w-1", .count = 0, .reserved_slots = 1};
  parked.withdrawn = std::make_shared<std::atomic<bool>>(false);
  support::Answer<std::vector<ClaimedJob>> answer;
  s.claims().claim(parked, answer.take());
  const JobId more = submit_as(s, "a"), first = submit_as(s, "b");
  const auto reserved_slots = answer.wait().value();
  ASSERT_EQ(reserved_slots.size(), 1u);
  EXPECT_EQ(reserved_slots[0].lease.job, first);
  EXPECT_EQ(s.queries().job("a", more)->status, JobStatus::kQueued);
}

TEST_P(DeliveryOrder, Rule11_AParkedClaimForReservedSlotsComesAfterThoseForSlots) {
  auto& s = fresh();
  const auto park = [&](int count, int reserved_slots, support::Answer<std::vector<ClaimedJob>>& answer) {
    JobClaims::Request parked{
        .kind = schemas::Kind::kOcr, .worker = "w-1", .count = count, .reserved_slots = reserved_slots};
    parked.withdrawn = std::make_shared<std::atomic<bool>>(false);
    s.claims().claim(parked, answer.take());
  };
  support::Answer<std::vector<ClaimedJob>> of_reserved, of_slots;
  park(0, 1, of_reserved);
  park(1, 0, of_slots);
  const JobId first = submit_as(s, "a"), second = submit_as(s, "b");
  EXPECT_EQ(of_slots.wait().value().at(0).lease.job, first);
  EXPECT_EQ(of_reserved.wait().value().at(0).lease.job, second);
}

TEST_P(DeliveryOrder, Rule12_VersionsAreGapFreeAndOnlyCommittedOnesAreNotified) {
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
  ASSERT_TRUE(support::wait_until([&] { return s.commits().all().changes.size() == 8; }));
  std::int64_t version = 0;
  for (const auto& change : s.commits().all().changes) {
    EXPECT_EQ(change.version, ++version);
    EXPECT_EQ(change.tenant, kTenant);
  }
  EXPECT_EQ(s.queries().events(kTenant, job, 6, 1)->at(0).version, 7);
}

TEST_P(DeliveryOrder, Rule12_ChildrenHaveNoHistoryAndReportThroughTheirParent) {
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

// Runs every transition on a job in every state and compares the result with the table of legal transitions.
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
    {"give back", [](JobStore& s, const Lease& l) { s.return_to_queue(l); }},
    {"split",
     [](JobStore& s, const Lease& l) {
       (void)await<ReportResult>([&](auto done) { s.outcomes().split(l, {{"{}", s.new_id()}}, 1, done); });
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

// A job in the given state, with the lease of its last attempt.
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

TEST_P(DeliveryOrder, TheStoreMakesExactlyTheLegalMoves) {
  std::set<std::pair<JobStatus, JobStatus>> made;
  for (int from = 0; from <= static_cast<int>(JobStatus::kExpired); ++from) {
    for (const Move& move : kMoves) {
      auto& s = fresh();
      const auto before = static_cast<JobStatus>(from);
      const Lease lease = job_in(s, before);
      ASSERT_EQ(s.status(lease.job), before);
      s.commits().clear();
      move.go(s, lease);
      JobStatus at = before;
      const JobStatus after = s.status(lease.job);
      if (after != before) {
        ASSERT_TRUE(support::wait_until([&] {
          const auto changes = s.commits().all().changes;
          return std::any_of(changes.begin(), changes.end(), [&](const schemas::JobChange& c) {
            return c.job == lease.job && c.status == after;
          });
        })) << move.name;
      }
      for (const schemas::JobChange& change : s.commits().all().changes) {
        if (change.job != lease.job || change.status == at) continue;
        EXPECT_TRUE(support::legal_move(at, change.status))
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
  made.emplace(JobStatus::kQueued, JobStatus::kFailed);  // through its machine: store_contract_machines.cpp
  for (int from = 0; from <= static_cast<int>(JobStatus::kExpired); ++from) {
    for (int to = 0; to <= static_cast<int>(JobStatus::kExpired); ++to) {
      const auto pair = std::pair(static_cast<JobStatus>(from), static_cast<JobStatus>(to));
      if (support::legal_move(pair.first, pair.second)) {
        EXPECT_TRUE(made.contains(pair)) << from << " → " << to << " is legal, but no transition produces it";
      }
    }
  }
}

TEST_P(DeliveryOrder, AnotherTenantsJobIsNotThere) {
  auto& s = fresh();
  const JobId job = s.submit();
  EXPECT_EQ(s.queries().job("other", job).error().code, Code::kNotFound);
  EXPECT_EQ(s.queries().events("other", job, 0, 9).error().code, Code::kNotFound);
  EXPECT_EQ(s.queries().result("other", job).error().code, Code::kNotFound);
  EXPECT_EQ(s.queries().part_sizes("other", job).error().code, Code::kNotFound);
  EXPECT_EQ(s.queries().part("other", job, 0).error().code, Code::kNotFound);
  EXPECT_TRUE(s.queries().jobs("other", {job})->empty());
  EXPECT_TRUE(s.queries().list("other", {}, 10, {})->items.empty());
  EXPECT_EQ(s.queries().record("other", job).error().code, Code::kNotFound);
  EXPECT_EQ(s.remove(job, {}, "other").error().code, Code::kNotFound);
  EXPECT_EQ(s.cancel(job, "other").error().code, Code::kNotFound);
  EXPECT_EQ(s.status(job), JobStatus::kQueued);
}

}  // namespace
}  // namespace millrace::storage::testing
