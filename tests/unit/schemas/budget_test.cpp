#include "schemas/tenants/budget.h"

#include <chrono>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "schemas/tenants/tenant_request.h"

namespace millrace::schemas {
namespace {

tl::expected<TenantRequest, Refusal> parse(std::string body) { return parse_tenant_request(body); }

std::int64_t day(int year, unsigned month, unsigned day_of_month) {
  using std::chrono::sys_days;
  return sys_days(std::chrono::year(year) / static_cast<int>(month) / static_cast<int>(day_of_month))
      .time_since_epoch()
      .count();
}

TEST(Budgets, AreReadWithTheirPeriodAndBothAmounts) {
  const auto request = parse(R"({"budget": {"usd": 1.5, "soft_usd": 0.1, "period": "day"}})");
  ASSERT_TRUE(request && request->budget);
  EXPECT_EQ(request->budget->hard, 1'500'000'000);
  EXPECT_EQ(request->budget->soft, 100'000'000);
  EXPECT_EQ(request->budget->period, UsagePeriod::kDay);
  EXPECT_EQ(parse(R"({"budget": {"usd": 1}})")->budget->period, UsagePeriod::kMonth);
  EXPECT_FALSE(parse(R"({"budget": null})")->budget);
}

TEST(Budgets, WithoutAnAmountOrWithAWrongMemberAreRefused) {
  for (const char* wrong :
       {R"({})", R"({"period": "day"})", R"({"usd": -1})", R"({"usd": "1"})", R"({"usd": 2e9})",
        R"({"usd": 1, "period": "week"})", R"({"usd": 1, "eur": 1})", R"([1])"}) {
    const auto request = parse(std::string(R"({"budget": )") + wrong + "}");
    ASSERT_FALSE(request) << wrong;
    EXPECT_FALSE(request.error().problems.empty()) << wrong;
  }
}

TEST(Budgets, ComeBackFromTheirText) {
  for (const Budget& budget : {Budget{.hard = 1, .period = UsagePeriod::kTotal}, Budget{.soft = 123'456'789},
                               Budget{.hard = 0, .soft = 10, .period = UsagePeriod::kDay}}) {
    EXPECT_EQ(budget_of(budget_json(budget)), budget) << budget_json(budget);
  }
  EXPECT_FALSE(budget_of(""));
  EXPECT_FALSE(budget_of("{}"));
}

TEST(Budgets, AMonthBeginsOnItsFirstDayInUtc) {
  EXPECT_EQ(first_day(UsagePeriod::kMonth, day(2028, 2, 29)), day(2028, 2, 1));
  EXPECT_EQ(next_first_day(UsagePeriod::kMonth, day(2028, 12, 31)), day(2029, 1, 1));
  EXPECT_EQ(first_day(UsagePeriod::kDay, day(2028, 2, 29)), day(2028, 2, 29));
  EXPECT_EQ(next_first_day(UsagePeriod::kDay, day(2028, 2, 29)), day(2028, 3, 1));
  EXPECT_EQ(first_day(UsagePeriod::kTotal, day(2028, 2, 29)), 0);
  EXPECT_FALSE(next_first_day(UsagePeriod::kTotal, day(2028, 2, 29)));
}

TEST(Money, RoundsUpToBillionthsButIgnoresWhatBinaryFractionsAdd) {
  EXPECT_EQ(nano_usd(0.1 + 0.2), 300'000'000);
  EXPECT_EQ(nano_usd(1e-10), 1);
  EXPECT_EQ(nano_usd(0), 0);
  EXPECT_EQ(usd(nano_usd(12.5)), 12.5);
  for (const double huge : {1e10, 1e300, std::numeric_limits<double>::infinity(), std::nan("")})
    EXPECT_EQ(nano_usd(huge), kNanoUsdMax);
}

}  // namespace
}  // namespace millrace::schemas
