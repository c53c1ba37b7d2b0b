#include "api/tenants/usage_meter.h"

#include <gtest/gtest.h>

#include "storage/tenants/tenants.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait_until.h"

namespace millrace::api {
namespace {

TEST(UsageMeter, WhatManyOwnersUsedIsWrittenInSeveralGroups) {
  constexpr std::int64_t kOwners = 5 * storage::Spending::kOwnersMax / 2;
  const support::TempDir folder;
  base::SystemClock clock;
  const auto store = storage::Store::open({.data_dir = folder.str()}, clock).value();
  UsageMeter meter(*store, clock);
  for (std::int64_t i = 0; i < kOwners; ++i) meter.add("acme", "key" + std::to_string(i), 2, {.cost = 5});
  const auto groups = store->stats().groups_total;
  meter.flush();
  EXPECT_TRUE(support::wait_until([&] {
    const auto total = storage::Tenants(*store).find("acme", schemas::UsagePeriod::kTotal);
    return total && total->use.in_period.requests == 2 * kOwners && total->use.in_period.cost == 5 * kOwners;
  }));
  EXPECT_TRUE(support::wait_until([&] { return store->stats().groups_total >= groups + 3; }));
}

}  // namespace
}  // namespace millrace::api
