#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "platform/base/clock.h"
#include "schemas/field.h"
#include "schemas/json/json.h"
#include "schemas/tenants/money.h"

namespace millrace::schemas {

// What usage over time is summed for: since midnight UTC, since the first day of the month, or since ever.
enum class UsagePeriod : std::uint8_t { kDay, kMonth, kTotal };
std::string_view name(UsagePeriod period);  // "day", "month", "total"
std::optional<UsagePeriod> period_named(std::string_view name);
// The first day of the period that contains `day`, and the first day after it. Days since 1970, UTC.
std::int64_t first_day(UsagePeriod period, std::int64_t day);
std::optional<std::int64_t> next_first_day(UsagePeriod period, std::int64_t day);  // absent: it never ends

// What a tenant, or one API key, may spend on models (docs/design/http-contract.md §9). At least one of
// `hard` and `soft` is set.
struct Budget {
  std::optional<NanoUsd> hard{};  // never exceeded
  std::optional<NanoUsd> soft{};  // only reported
  UsagePeriod period = UsagePeriod::kMonth;
  friend bool operator==(const Budget&, const Budget&) = default;
};
inline constexpr double kBudgetUsdMax = 1e9;

// {"usd": 1.0, "period": "day", "soft_usd": 0.8}
std::string budget_json(const Budget& budget);
// The budget in a text of budget_json; absent: other text.
std::optional<Budget> budget_of(std::string_view json);
// Reads the value of a field `budget`. Reports problems, also unknown members.
void read_budget(FieldReader& reader, const Json& value, std::optional<Budget>& to);
// The JSON Schema of that value.
std::string_view budget_schema();

}  // namespace millrace::schemas
