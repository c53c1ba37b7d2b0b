#include <map>
#include <vector>

#include "tests/unit/storage/budget_store.h"

namespace millrace::storage::testing {
namespace {

using base::Code;
using schemas::NanoUsd;
using schemas::UsagePeriod;

void expect_budget_exceeded(const base::Error& error) {
  EXPECT_EQ(error.code, Code::kBudgetExceeded);
  EXPECT_EQ(error.param, "budget");
}

TEST(Budgets, ASettlementThatFollowsItsReservationAtOnceReleasesIt) {
  BudgetStore s;
  s.budget({.hard = 100});
  base::Uuid id;
  const auto made = await<std::optional<base::Uuid>>([&](auto done) {
    id = Spending(s.store()).reserve({.tenant = kTenant, .key_id = {}, .cost_max = 40, .holder = s.holder},
                                     std::move(done));
    s.settle(id, 3);
  });
  EXPECT_EQ(made.value(), id);
  EXPECT_EQ(s.use().cost, 3);
  EXPECT_EQ(s.use().reserved, 0);
}

TEST(Budgets, WhetherThereIsAHardOneIsKnownWithoutAJob) {
  BudgetStore s;
  Tenants tenants(s.store());
  EXPECT_EQ(tenants.has_budget({kTenant, {}}).value(), false);
  s.budget({.soft = 5});
  EXPECT_EQ(tenants.has_budget({kTenant, {}}).value(), false);
  const std::string key = s.key_with({.hard = 5});
  EXPECT_EQ(tenants.has_budget({kTenant, {}}).value(), false);
  EXPECT_EQ(tenants.has_budget({kTenant, key}).value(), true);
  EXPECT_EQ(tenants.has_budget({"nobody", "no-key"}).value(), false);
  s.budget({.hard = 5});
  EXPECT_EQ(tenants.has_budget({kTenant, {}}).value(), true);
}

TEST(Budgets, ARetryWithoutAStoredBoundReservesTheOneThatItBrings) {
  BudgetStore s;
  const auto old = s.try_costing(std::nullopt)->job;
  s.fail(s.claim_one());
  s.budget({.hard = 100});
  const auto refused = s.retry_job(old, kTenant, base::error(Code::kInternal, "why"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "why");
  ASSERT_TRUE(s.retry_job(old, kTenant, 40));
  EXPECT_EQ(s.use().reserved, 40);
  EXPECT_EQ(s.reserved_rows(), 40);
  EXPECT_EQ(s.retry_job(old, kTenant, 70).error().code, Code::kBudgetExceeded);
}

TEST(Budgets, JobsAreAcceptedWhileTheMostThatTheyMayCostFits) {
  BudgetStore s;
  s.budget({.hard = 100});
  EXPECT_TRUE(s.try_costing(60));
  const auto refused = s.try_costing(41);
  ASSERT_FALSE(refused);
  expect_budget_exceeded(refused.error());
  EXPECT_GT(refused.error().retry_after.count(), 0);
  EXPECT_TRUE(s.try_costing(40));
  EXPECT_TRUE(s.try_costing(0)) << "a local model costs nothing";
  EXPECT_EQ(s.use().reserved, 100);
  EXPECT_EQ(s.reserved_rows(), 100);
}

TEST(Budgets, OfManyJobsInOneTransactionOnlyThoseThatFitAreAccepted) {
  BudgetStore s;
  s.budget({.hard = 10});
  std::vector<std::future<bool>> accepted;
  {
    const HeldWriter held(s.store());
    for (int i = 0; i < 50; ++i) {
      auto promise = std::make_shared<std::promise<bool>>();
      accepted.push_back(promise->get_future());
      s.intake().submit(s.costing(3), [promise](const auto& made) { promise->set_value(made.has_value()); });
    }
  }
  int count = 0;
  for (auto& each : accepted) count += each.get() ? 1 : 0;
  EXPECT_EQ(count, 3);
}

TEST(Budgets, AModelWithoutAPriceIsRefusedOnlyUnderAHardBudget) {
  BudgetStore s;
  EXPECT_TRUE(s.try_costing(std::nullopt));
  s.budget({.soft = 1});
  EXPECT_TRUE(s.try_costing(std::nullopt));
  s.budget({.hard = 100});
  const auto refused = s.try_costing(std::nullopt);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kBudgetExceeded);
  EXPECT_EQ(refused.error().param, "price");
}

TEST(Budgets, TheBudgetOfAKeyHoldsBesideThatOfItsTenant) {
  BudgetStore s;
  const std::string key = s.key_with({.hard = 10});
  s.budget({.hard = 15});
  Submission of_key = s.costing(10);
  of_key.key_id = key;
  EXPECT_TRUE(s.try_submit(std::move(of_key)));
  of_key = s.costing(1);
  of_key.key_id = key;
  EXPECT_FALSE(s.try_submit(std::move(of_key)));
  EXPECT_TRUE(s.try_costing(5));
  EXPECT_FALSE(s.try_costing(1));
}

TEST(Budgets, TheSuccessorOfAKeyHasWhatTheKeyHasLeft) {
  BudgetStore s;
  const std::string key = s.key_with({.hard = 10});
  const auto submit_by = [&](const std::string& id, NanoUsd cost_max) {
    Submission of_key = s.costing(cost_max);
    of_key.key_id = id;
    return s.try_submit(std::move(of_key)).has_value();
  };
  EXPECT_TRUE(submit_by(key, 6));
  ApiKeyRow successor;
  successor.id = "keyid002";
  EXPECT_TRUE(await<bool>(
      [&](auto done) { ApiKeys(s.store()).rotate(key, successor, s.clock.wall() + 24h, std::move(done)); }));
  EXPECT_FALSE(submit_by(successor.id, 5));
  EXPECT_FALSE(submit_by(key, 5));
  s.finish_for(s.claim_one(), 2);
  EXPECT_TRUE(submit_by(successor.id, 8)) << "the job of the old key was settled for both";
}

TEST(Budgets, TheEndOfAJobChargesWhatItUsedAndReleasesTheRest) {
  BudgetStore s;
  s.budget({.hard = 100});
  s.submit(s.costing(60));
  const Lease lease = s.claim_one();
  EXPECT_EQ(s.call(lease, 60), ReportResult::kApplied);
  EXPECT_EQ(s.finish_for(lease, 25), ReportResult::kApplied);
  EXPECT_EQ(s.use().cost, 25);
  EXPECT_EQ(s.use().reserved, 0);
  EXPECT_EQ(s.finish_for(lease, 25), ReportResult::kRepeated);
  EXPECT_EQ(s.use().cost, 25) << "a repeated report charges once";
  EXPECT_TRUE(s.try_costing(75));
  EXPECT_FALSE(s.try_costing(1));
}

TEST(Budgets, AJobThatEndsWithoutACallCostsNothing) {
  BudgetStore s;
  s.budget({.hard = 100});
  ASSERT_TRUE(s.cancel(s.submit(s.costing(60))));
  s.submit(s.costing(60));
  s.finish_for(s.claim_one(), std::nullopt);
  EXPECT_EQ(s.use().cost, 0);
  EXPECT_EQ(s.use().reserved, 0);
}

TEST(Budgets, ALostWorkersCallsAreChargedInFullAndTheNextAttemptReservesAgain) {
  BudgetStore s;
  s.budget({.hard = 100});
  const auto job = s.submit(s.costing(40));
  EXPECT_EQ(s.call(s.claim_one(), 40), ReportResult::kApplied);
  s.lose_worker();
  EXPECT_EQ(s.use().cost, 40);
  EXPECT_EQ(s.use().reserved, 40);
  EXPECT_EQ(s.call(s.claim_one(), 40), ReportResult::kApplied);
  s.lose_worker();
  EXPECT_EQ(s.use().cost, 80);
  EXPECT_EQ(s.use().reserved, 0);
  EXPECT_EQ(s.view(job).status, schemas::JobStatus::kFailed) << "a third attempt could exceed the budget";
  EXPECT_EQ(s.view(job).error->code, Code::kBudgetExceeded);
}

TEST(Budgets, AnAttemptThatWasLostBeforeItsCallCostsNothing) {
  BudgetStore s;
  s.budget({.hard = 40});
  s.submit(s.costing(40));
  for (int i = 0; i < 3; ++i) {
    (void)s.claim_one();
    s.lose_worker();
  }
  EXPECT_EQ(s.use().cost, 0);
  EXPECT_EQ(s.use().reserved, 40);
}

TEST(Budgets, FurtherCallsOfAnAttemptExtendItsReservationOrEndTheJob) {
  BudgetStore s;
  s.budget({.hard = 100});
  const auto job = s.submit(s.costing(40));
  const Lease lease = s.claim_one();
  EXPECT_EQ(s.call(lease, 40), ReportResult::kApplied);
  EXPECT_EQ(s.call(lease, 50), ReportResult::kApplied);
  EXPECT_EQ(s.use().reserved, 90);
  EXPECT_EQ(s.call(lease, 11), ReportResult::kLeaseLost);
  EXPECT_EQ(s.view(job).error->code, Code::kBudgetExceeded);
  EXPECT_EQ(s.use().cost, 90) << "what was sent is charged in full";
  EXPECT_EQ(s.use().reserved, 0);
}

TEST(Budgets, ARetryKeepsItsReservationIfTheFirstCallCostNothing) {
  BudgetStore s;
  s.budget({.hard = 40});
  s.submit(s.costing(40));
  for (int i = 0; i < 3; ++i) {
    const Lease lease = s.claim_one();
    EXPECT_EQ(s.call(lease, 40), ReportResult::kApplied);
    EXPECT_EQ(s.retry_for(lease, 0), ReportResult::kApplied);
    s.let_pass(10s);
  }
  EXPECT_EQ(s.use().cost, 0);
  EXPECT_EQ(s.use().reserved, 40);
}

TEST(Budgets, AJobThatWasAcceptedWithoutABudgetRunsAndIsCharged) {
  BudgetStore s;
  s.submit(s.costing(40));
  s.budget({.hard = 1});
  const auto claimed = s.claim(1);
  ASSERT_EQ(claimed.size(), 1U);
  EXPECT_FALSE(claimed.front().has_budget);
  EXPECT_EQ(s.call(claimed.front().lease, 40), ReportResult::kApplied);
  s.finish_for(claimed.front().lease, 30);
  EXPECT_EQ(s.use().cost, 30);
  EXPECT_FALSE(s.try_costing(1));
}

TEST(Budgets, ARetryByTheOwnerReservesLikeANewJob) {
  BudgetStore s;
  s.budget({.hard = 50});
  const auto job = s.submit(s.costing(40));
  ASSERT_TRUE(s.cancel(job));
  ASSERT_TRUE(s.retry_job(job));
  EXPECT_EQ(s.use().reserved, 40);
  EXPECT_FALSE(s.retry_job(job));
}

TEST(Budgets, ChildrenPayFromTheReservationOfTheirRoot) {
  BudgetStore s;
  s.budget({.hard = 50});
  s.submit(s.costing(40));
  s.split(s.claim_one(), 2);
  const auto children = s.claim(2);
  ASSERT_EQ(children.size(), 2U);
  EXPECT_TRUE(children[0].has_budget);
  EXPECT_EQ(s.call(children[0].lease, 25), ReportResult::kApplied);
  EXPECT_EQ(s.call(children[1].lease, 25), ReportResult::kApplied);
  EXPECT_EQ(s.use().reserved, 50) << "15 of the root's were left, and 10 came from the budget";
  s.finish_for(children[0].lease, 5);
  s.finish_for(children[1].lease, std::nullopt);
  EXPECT_EQ(s.use().cost, 30);
  s.finish_for(s.claim_one(), 0);
  EXPECT_EQ(s.use().reserved, 0);
  EXPECT_EQ(s.reserved_rows(), 0);
}

TEST(Budgets, ADirectRequestReservesExtendsAndSettles) {
  BudgetStore s;
  s.budget({.hard = 100});
  const auto id = s.reserve(60);
  ASSERT_TRUE(id && *id);
  const auto refused = s.reserve(41);
  ASSERT_FALSE(refused);
  expect_budget_exceeded(refused.error());
  EXPECT_TRUE(s.extend(**id, 40));
  const auto more = s.extend(**id, 1);
  ASSERT_FALSE(more);
  expect_budget_exceeded(more.error());
  s.settle(**id, 70);
  s.settle(**id, 70);
  EXPECT_EQ(s.use().cost, 70);
  EXPECT_EQ(s.use().reserved, 0);
}

TEST(Budgets, ADirectRequestWithoutABudgetNeedsNoReservation) {
  BudgetStore s;
  const auto id = s.reserve(60);
  ASSERT_TRUE(id);
  EXPECT_FALSE(*id);
}

TEST(Budgets, TheRequestsOfADeadProcessAreChargedInFull) {
  BudgetStore s;
  s.budget({.hard = 100});
  ASSERT_TRUE(s.reserve(60));
  s.let_pass(80s);
  s.renew();
  s.let_pass(60s);
  EXPECT_EQ(s.settle_abandoned(), 0) << "its process lives";
  s.let_pass(60s);
  EXPECT_EQ(s.settle_abandoned(), 1);
  EXPECT_EQ(s.use().cost, 60);
  EXPECT_EQ(s.use().reserved, 0);
}

TEST(Budgets, AChargeBelongsToTheDayOfItsReservation) {
  BudgetStore s;
  s.budget({.hard = 100, .period = UsagePeriod::kDay});
  Submission first = s.costing(60);
  first.deadline_after = 72h;
  s.submit(std::move(first));
  s.clock.advance(24h);
  EXPECT_TRUE(s.try_costing(100)) << "another day has a budget of its own";
  EXPECT_FALSE(s.try_costing(1));
  const auto claimed = s.claim(1);
  ASSERT_EQ(claimed.size(), 1U);
  s.call(claimed.front().lease, 60);
  s.finish_for(claimed.front().lease, 50);
  EXPECT_EQ(s.use().cost, 0);
  EXPECT_EQ(s.use(UsagePeriod::kTotal).cost, 50);
}

TEST(Budgets, WhatIsReservedAfterMidnightCountsForTheNewDay) {
  BudgetStore s;
  s.budget({.hard = 100, .period = UsagePeriod::kDay});
  Submission first = s.costing(60);
  first.deadline_after = 72h;
  s.submit(std::move(first));
  const Lease lease = s.claim_one();
  const auto request = s.reserve(40);
  ASSERT_TRUE(request && *request);
  EXPECT_EQ(s.call(lease, 60), ReportResult::kApplied);
  s.clock.advance(24h);
  EXPECT_EQ(s.call(lease, 30), ReportResult::kApplied) << "90 of today's 100";
  EXPECT_FALSE(s.extend(**request, 1)) << "with it, 131 would be reserved today";
  EXPECT_FALSE(s.try_costing(11));
  EXPECT_EQ(s.use().reserved, 90);
}

// Submits one job a day for the same time, and returns how each of them stands at that time.
std::map<schemas::JobId, JobStatus> scheduled_on_days(BudgetStore& s, int days, NanoUsd cost_max) {
  const auto run_at = s.clock.wall() + days * kDay;
  std::map<schemas::JobId, JobStatus> jobs;
  for (int day = 0; day < days; ++day) {
    Submission later = s.costing(cost_max);
    later.start = run_at;
    if (const auto made = s.try_submit(std::move(later))) jobs[made->job] = {};
    s.clock.advance(kDay);
  }
  EXPECT_EQ(s.release_due(), static_cast<int>(jobs.size()));
  for (auto& [job, status] : jobs) status = s.status(job);
  return jobs;
}

std::vector<schemas::JobId> of_status(const std::map<schemas::JobId, JobStatus>& jobs, JobStatus status) {
  std::vector<schemas::JobId> found;
  for (const auto& [job, each] : jobs) {
    if (each == status) found.push_back(job);
  }
  return found;
}

TEST(Budgets, AScheduledJobNeedsTheBudgetOfTheDayOnWhichItStarts) {
  BudgetStore s;
  s.budget({.hard = 100, .period = UsagePeriod::kDay});
  const auto jobs = scheduled_on_days(s, 5, 40);
  ASSERT_EQ(jobs.size(), 5U) << "each is reserved on a day of its own";
  EXPECT_EQ(of_status(jobs, JobStatus::kQueued).size(), 2U);
  const auto refused = of_status(jobs, JobStatus::kFailed);
  ASSERT_EQ(refused.size(), 3U);
  EXPECT_EQ(s.view(refused.front()).error->code, Code::kBudgetExceeded);
  EXPECT_EQ(s.use().reserved, 80);
  EXPECT_EQ(s.use(UsagePeriod::kTotal).reserved, 80) << "what was reserved before is released";
  EXPECT_EQ(s.reserved_rows(), 80);
  EXPECT_FALSE(s.try_costing(21));
  s.finish_for(s.claim_one(), 30);
  EXPECT_EQ(s.use().cost, 30);
}

TEST(Budgets, AScheduledJobThatStartsInALaterMonthNeedsItsBudget) {
  BudgetStore s;
  s.budget({.hard = 100, .period = UsagePeriod::kMonth});
  s.clock.advance(14 * kDay);  // two days before December
  const auto jobs = scheduled_on_days(s, 4, 60);
  ASSERT_EQ(jobs.size(), 2U) << "one in each month";
  EXPECT_EQ(of_status(jobs, JobStatus::kQueued).size(), 1U);
  EXPECT_EQ(of_status(jobs, JobStatus::kFailed).size(), 1U);
  EXPECT_EQ(s.use(UsagePeriod::kMonth).reserved, 60);
}

TEST(Budgets, AScheduledJobThatStartsInTheSameMonthIsCountedOnce) {
  BudgetStore s;
  s.budget({.hard = 100, .period = UsagePeriod::kMonth});
  const auto jobs = scheduled_on_days(s, 2, 50);
  EXPECT_EQ(of_status(jobs, JobStatus::kQueued).size(), 2U);
  EXPECT_EQ(s.use(UsagePeriod::kMonth).reserved, 100);
}

TEST(Budgets, WhatIsReservedOnALaterDayOfTheMonthIsCountedOnce) {
  BudgetStore s;
  s.budget({.hard = 100, .period = UsagePeriod::kMonth});
  Submission first = s.costing(60);
  first.deadline_after = 72h;
  s.submit(std::move(first));
  const Lease lease = s.claim_one();
  const auto request = s.reserve(20);
  ASSERT_TRUE(request && *request);
  EXPECT_EQ(s.call(lease, 60), ReportResult::kApplied);
  s.clock.advance(kDay);
  EXPECT_TRUE(s.extend(**request, 5)) << "85 of 100";
  EXPECT_EQ(s.call(lease, 15), ReportResult::kApplied) << "100 of 100";
  EXPECT_FALSE(s.extend(**request, 1));
  EXPECT_EQ(s.use(UsagePeriod::kMonth).reserved, 100);
}

TEST(Budgets, AFreeModelThatGetsAPriceLaterIsStillUnderTheBudget) {
  BudgetStore s;
  s.budget({.hard = 10});
  s.submit(s.costing(0));
  const auto claimed = s.claim(1);
  ASSERT_EQ(claimed.size(), 1U);
  EXPECT_TRUE(claimed.front().has_budget);
  EXPECT_EQ(s.call(claimed.front().lease, 11), ReportResult::kLeaseLost);
}

TEST(Budgets, TheSoftLimitRefusesNothing) {
  BudgetStore s;
  s.budget({.soft = 10});
  EXPECT_TRUE(s.try_costing(60));
  s.finish_for(s.claim_one(), 60);
  const TenantView view = Tenants(s.store()).find(kTenant).value();
  EXPECT_EQ(view.budget_used, 60);
  EXPECT_EQ(view.budget->soft, 10);
}

}  // namespace
}  // namespace millrace::storage::testing
