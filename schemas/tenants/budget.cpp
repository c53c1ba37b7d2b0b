#include "schemas/tenants/budget.h"

#include <array>
#include <chrono>

#include "schemas/json/json.h"
#include "schemas/json/json_text.h"

namespace millrace::schemas {
namespace {

constexpr std::array<std::string_view, 3> kPeriodNames = {"day", "month", "total"};

struct BudgetFields {
  std::optional<double> usd, soft_usd;
  std::string period = "month";
};

constexpr std::int64_t kUsdMax = static_cast<std::int64_t>(kBudgetUsdMax);
constexpr std::array kBudgetFields{
    Field{.name = "usd",
          .type = FieldType::kNumber,
          .text = "US dollars per period that are never exceeded",
          .max = kUsdMax,
          .store = &store_in<BudgetFields, &BudgetFields::usd>},
    Field{.name = "soft_usd",
          .type = FieldType::kNumber,
          .text = "US dollars per period that only a warning in the log and GET /v1/usage report",
          .max = kUsdMax,
          .store = &store_in<BudgetFields, &BudgetFields::soft_usd>},
    Field{.name = "period",
          .text = "A UTC day, a UTC month, or for ever",
          .choices = kPeriodNames,
          .default_json = R"("month")",
          .store = &store_in<BudgetFields, &BudgetFields::period>},
};

std::optional<NanoUsd> amount_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return nano_usd(found->get<double>());
}

std::string make_budget_schema() {
  const Json amount = {{"type", {"number", "null"}}, {"minimum", 0}, {"maximum", kUsdMax}};
  return Json{{"type", "object"},
              {"additionalProperties", false},
              {"properties",
               {{"usd", amount},
                {"soft_usd", amount},
                {"period", {{"type", "string"}, {"enum", kPeriodNames}, {"default", "month"}}}}}}
      .dump();
}

std::chrono::year_month month_of(std::int64_t day) {
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(day))};
  return {date.year(), date.month()};
}

std::int64_t first_day_of(std::chrono::year_month month) {
  return std::chrono::sys_days(month / 1).time_since_epoch().count();
}

}  // namespace

std::string_view name(UsagePeriod period) { return kPeriodNames[static_cast<std::size_t>(period)]; }

std::optional<UsagePeriod> period_named(std::string_view name) {
  for (std::size_t i = 0; i < kPeriodNames.size(); ++i) {
    if (kPeriodNames[i] == name) return static_cast<UsagePeriod>(i);
  }
  return std::nullopt;
}

std::int64_t first_day(UsagePeriod period, std::int64_t day) {
  if (period == UsagePeriod::kDay) return day;
  return period == UsagePeriod::kMonth ? first_day_of(month_of(day)) : 0;
}

std::optional<std::int64_t> next_first_day(UsagePeriod period, std::int64_t day) {
  if (period == UsagePeriod::kDay) return day + 1;
  if (period == UsagePeriod::kTotal) return std::nullopt;
  return first_day_of(month_of(day) + std::chrono::months(1));
}

std::string budget_json(const Budget& budget) {
  JsonObject out;
  if (budget.hard) out.raw("usd", Json(usd(*budget.hard)).dump());
  out.member("period", name(budget.period));
  if (budget.soft) out.raw("soft_usd", Json(usd(*budget.soft)).dump());
  return out.finish();
}

std::optional<Budget> budget_of(std::string_view text) {
  const Json object = Json::parse(text, nullptr, false);
  if (!object.is_object()) return std::nullopt;
  Budget budget{.hard = amount_of(object, "usd"), .soft = amount_of(object, "soft_usd")};
  if (!budget.hard && !budget.soft) return std::nullopt;
  if (const auto period = object.find("period"); period != object.end() && period->is_string())
    budget.period = period_named(period->get_ref<const std::string&>()).value_or(UsagePeriod::kMonth);
  return budget;
}

void read_budget(FieldReader& reader, const Json& value, std::optional<Budget>& to) {
  if (!reader.is_object(value)) return;
  BudgetFields fields;
  const std::size_t failures = reader.failures();
  reader.read(kBudgetFields, value, &fields);
  if (reader.failures() > failures) return;
  if (!fields.usd && !fields.soft_usd)
    return reader.problem("A budget has an amount: usd, soft_usd or both", "missing", &value);
  Budget& budget = to.emplace();
  if (fields.usd) budget.hard = nano_usd(*fields.usd);
  if (fields.soft_usd) budget.soft = nano_usd(*fields.soft_usd);
  budget.period = *period_named(fields.period);
}

std::string_view budget_schema() {
  static const std::string schema = make_budget_schema();
  return schema;
}

}  // namespace millrace::schemas
