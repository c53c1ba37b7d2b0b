#pragma once
#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "storage/admin/api_keys.h"
#include "storage/tenants/spending.h"
#include "storage/tenants/tenants.h"
#include "storage/writer/readers.h"
#include "tests/unit/storage/job_store.h"
#include "tests/unit/storage/opened_store.h"

namespace millrace::storage::testing {

// A store whose tenant has a budget.
class BudgetStore : public JobStore {
 public:
  void budget(schemas::Budget budget) {
    EXPECT_TRUE(await<bool>(
        [&](auto done) { Tenants(store()).set(kTenant, {.budget = budget}, std::move(done), "test"); }));
  }
  std::string key_with(schemas::Budget budget) {
    ApiKeyRow key;
    key.id = "keyid001";
    key.tenant = kTenant;
    key.budget = budget;
    EXPECT_TRUE(await<bool>([&](auto done) { ApiKeys(store()).create(key, std::move(done)); }));
    return key.id;
  }
  Submission costing(std::optional<schemas::NanoUsd> cost_max) {
    Submission s = order();
    s.cost_max = cost_max;
    return s;
  }
  base::Result<Submitted> try_costing(std::optional<schemas::NanoUsd> cost_max) {
    return try_submit(costing(cost_max));
  }
  // Another call of the attempt, which may cost so much.
  ReportResult call(const Lease& lease, schemas::NanoUsd cost_max) {
    schemas::NanoUsd& attempt_max = attempt_max_[lease.token.str()];
    const JobOutcomes::ModelCall call{.attempt_max = attempt_max + cost_max,
                                      .used_before = schemas::Charge{.cost = attempt_max}};
    const auto result = await<ReportResult>([&](auto done) { outcomes().call(lease, call, done); }).value();
    if (result == ReportResult::kApplied) attempt_max += cost_max;
    return result;
  }
  ReportResult finish_for(const Lease& lease, std::optional<schemas::NanoUsd> cost) {
    JobOutcomes::Used used;
    if (cost) used = schemas::Charge{.cost = *cost};
    return await<ReportResult>([&](auto done) {
             outcomes().finish(lease, {"{}", nullptr}, done, used);
           })
        .value();
  }
  ReportResult retry_for(const Lease& lease, schemas::NanoUsd cost) {
    RetryPlan plan;
    plan.error = {base::Code::kUpstream, "again", ""};
    plan.used = schemas::Charge{.cost = cost};
    return await<ReportResult>([&](auto done) { outcomes().retry(lease, plan, done); }).value();
  }
  void lose_worker() {
    (void)step([&](auto done) { upkeep().release_worker("w-1", 20, done); });
  }
  QuotaLedger::DayUse use(schemas::UsagePeriod period = schemas::UsagePeriod::kDay) {
    return Tenants(store()).find(kTenant, period).value().use.in_period;
  }
  // The sum of the reservations, which `reserved` repeats.
  schemas::NanoUsd reserved_rows() {
    return read(store().readers(),
                [](Db& db) {
                  auto s = db.prepare("SELECT coalesce(sum(nano), 0) FROM reservations");
                  s.step();
                  return s.integer(0);
                })
        .value();
  }
  schemas::NanoUsd most_of_a_day() {
    return read(store().readers(),
                [](Db& db) {
                  auto s = db.prepare("SELECT coalesce(max(cost_nano + reserved_nano), 0) FROM daily_usage");
                  s.step();
                  return s.integer(0);
                })
        .value();
  }
  base::Result<std::optional<base::Uuid>> reserve(std::optional<schemas::NanoUsd> cost_max) {
    return await<std::optional<base::Uuid>>([&](auto done) {
      Spending(store()).reserve({.tenant = kTenant, .key_id = {}, .cost_max = cost_max, .holder = holder},
                                done);
    });
  }
  base::Result<bool> extend(const base::Uuid& id, schemas::NanoUsd more) {
    return await<bool>([&](auto done) { Spending(store()).extend(id, more, done); });
  }
  void settle(const base::Uuid& id, schemas::NanoUsd cost) {
    EXPECT_TRUE(await<bool>([&](auto done) { Spending(store()).settle(id, {.cost = cost}, done); }));
  }
  void renew() {
    EXPECT_TRUE(await<bool>([&](auto done) { Spending(store()).renew(holder, done); }));
  }
  int settle_abandoned() {
    return step([&](auto done) { Spending(store()).settle_abandoned(100, done); });
  }
  void let_pass(std::chrono::seconds time) {
    for (auto passed = 0s; passed < time; passed += 5s) {
      clock.advance(5s);
      (void)release_due();
    }
  }

  const base::Uuid holder = base::Uuid::make(clock.wall());

 private:
  std::map<std::string, schemas::NanoUsd> attempt_max_;  // by token
};

}  // namespace millrace::storage::testing
