#include "app/commands/limit_arguments.h"

#include <charconv>

#include "platform/base/bytes.h"

namespace millrace::app {
namespace {

using schemas::Quota;

std::string quota_names() {
  std::string text;
  for (std::size_t i = 0; i < schemas::kQuotaCount; ++i)
    text.append(i == 0 ? "" : ", ").append(schemas::name(static_cast<Quota>(i)));
  return text;
}

// An amount of money; absent: "none". False: no amount.
bool read_amount(const std::string& text, std::optional<schemas::NanoUsd>& to) {
  to.reset();
  if (text == "none") return true;
  double amount = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  if (!(amount >= 0 && amount <= schemas::kBudgetUsdMax)) return false;
  to = schemas::nano_usd(amount);
  return true;
}

// False: it has another form, or is no part of a budget.
bool apply_to_budget(const std::string& name, const std::string& value,
                     std::optional<schemas::Budget>& budget) {
  schemas::Budget changed = budget.value_or(schemas::Budget());
  if (name == "period") {
    const auto period = schemas::period_named(value);
    if (!period) return false;
    changed.period = *period;
  } else if (name == "usd" || name == "soft_usd") {
    if (!read_amount(value, name == "usd" ? changed.hard : changed.soft)) return false;
  } else {
    return false;
  }
  budget = changed;
  return true;
}

// False: it has another form.
bool apply(const std::string& argument, schemas::Limits& limits, std::optional<schemas::Budget>& budget) {
  const std::size_t equals = argument.find('=');
  if (equals == std::string::npos) return false;
  const std::string name = argument.substr(0, equals), value = argument.substr(equals + 1);
  if (apply_to_budget(name, value, budget)) return true;
  for (std::size_t i = 0; i < schemas::kQuotaCount; ++i) {
    const Quota quota = static_cast<Quota>(i);
    if (name != schemas::name(quota)) continue;
    if (value == "default") {
      limits[quota].reset();
    } else if (value == "unlimited") {
      limits[quota] = schemas::kUnlimited;
    } else {
      // A size with a unit only where bytes are counted.
      const bool is_plain = value.find_first_not_of("0123456789") == std::string::npos;
      const auto number = is_plain || quota == Quota::kStoredBytes ? base::parse_bytes(value) : std::nullopt;
      if (!number || *number > schemas::kQuotaMax) return false;
      limits[quota] = *number;
    }
    return true;
  }
  return false;
}

}  // namespace

base::Status apply_limit(const std::string& argument, schemas::Limits& limits,
                         std::optional<schemas::Budget>& budget) {
  if (apply(argument, limits, budget)) return {};
  return base::error(base::Code::kInvalidField,
                     "'" + argument +
                         "' is no limit: write QUOTA=NUMBER, QUOTA=unlimited or QUOTA=default; the " +
                         "quotas are " + quota_names() +
                         ". Or write usd=DOLLARS, soft_usd=DOLLARS or period=day, month or total");
}

void remove_empty(std::optional<schemas::Budget>& budget) {
  if (budget && !budget->hard && !budget->soft) budget.reset();
}

}  // namespace millrace::app
