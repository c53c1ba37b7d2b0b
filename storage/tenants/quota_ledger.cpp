#include "storage/tenants/quota_ledger.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "platform/base/log.h"
#include "schemas/json/json_text.h"
#include "storage/sql.h"

namespace millrace::storage {
namespace {

using schemas::Quota;

constexpr std::int64_t kDayMs = 86'400'000;

// True: units become available by waiting. False: only by deleting something.
bool recovers_by_waiting(Quota quota) {
  switch (quota) {
    case Quota::kRequestsPerMinute:
    case Quota::kTokensPerMinute:
    case Quota::kRunningJobs:
    case Quota::kPagesPerDay:
      return true;
    default:
      return false;
  }
}

struct Check {
  Quota quota;
  std::int64_t added, used;
};

std::optional<Quota> exceeded(const schemas::Limits& limits, const QuotaLedger::Delta& used,
                              const QuotaLedger::Delta& delta) {
  const std::array checks = {Check{Quota::kRunningJobs, delta.open_jobs, used.open_jobs},
                             Check{Quota::kStoredJobs, delta.stored_jobs, used.stored_jobs},
                             Check{Quota::kStoredBytes, delta.stored_bytes, used.stored_bytes}};
  for (const Check& check : checks) {
    const std::int64_t limit = limits.of(check.quota);
    if (limit == schemas::kUnlimited || check.added <= 0) continue;
    if (check.added > limit - std::max<std::int64_t>(0, check.used)) return check.quota;
  }
  return std::nullopt;
}

}  // namespace

std::int64_t utc_day(base::WallTime time) { return base::millis(time) / kDayMs; }
base::WallTime start_of_day(std::int64_t day) { return base::wall_from(day * kDayMs); }

std::string tenant_owner(std::string_view tenant) { return "t:" + std::string(tenant); }
std::string key_owner(std::string_view key_id) { return "k:" + std::string(key_id); }

base::Error quota_error(Quota quota, std::int64_t limit, bool of_key) {
  const bool waiting_helps = recovers_by_waiting(quota);
  const std::string quota_name(schemas::name(quota));
  base::Error error =
      base::error(waiting_helps ? base::Code::kQuotaExceeded : base::Code::kQuotaFull,
                  std::string(of_key ? "This API key" : "This tenant") + " has reached its limit `" +
                      quota_name + "` of " + std::to_string(limit) +
                      (waiting_helps ? "; retry later" : "; delete something first, or ask for more"),
                  quota_name);
  error.details = schemas::JsonObject().member("quota", quota_name).number("limit", limit).finish();
  return error;
}

namespace {

std::string dollars(schemas::NanoUsd nano) {
  std::array<char, 32> text;
  const double amount = schemas::usd(nano);
  const int length = std::snprintf(text.data(), text.size(), amount < 1'000 ? "$%.6g" : "$%.2f", amount);
  return {text.data(), static_cast<std::size_t>(length)};
}

std::string_view period_text(schemas::UsagePeriod period) {
  switch (period) {
    case schemas::UsagePeriod::kDay:
      return " a day (UTC)";
    case schemas::UsagePeriod::kMonth:
      return " a month (UTC)";
    case schemas::UsagePeriod::kTotal:
      break;
  }
  return " in all";
}

base::Error budget_error(const schemas::Budget& budget, schemas::NanoUsd spent, schemas::NanoUsd more,
                         bool of_key) {
  base::Error error = base::error(base::Code::kBudgetExceeded,
                                  std::string(of_key ? "This API key" : "This tenant") + " may spend " +
                                      dollars(*budget.hard) + std::string(period_text(budget.period)) + ": " +
                                      dollars(spent) + " are spent or reserved, and this would reserve " +
                                      dollars(more) + " more",
                                  "budget");
  error.details =
      schemas::JsonObject().member("quota", "budget").raw("budget", schemas::budget_json(budget)).finish();
  return error;
}

}  // namespace

base::Error no_price_error(std::string_view model) {
  const std::string name =
      model.empty() ? "the requested model, or a fallback of it," : "'" + std::string(model) + "'";
  return base::error(base::Code::kBudgetExceeded,
                     "This tenant or API key has a budget, so it may use only models with a `price` in the "
                     "configuration; " +
                         name + " has none",
                     "price");
}

void QuotaLedger::warn_at_soft_limit(const Account& account, schemas::NanoUsd spent, schemas::NanoUsd more) {
  const schemas::NanoUsd soft = *account.budget->soft;
  if (spent > soft || spent + more <= soft) return;
  base::log_warn("budget_soft_limit", {{"owner", account.owner},
                                       {"soft_usd", schemas::usd(soft)},
                                       {"period", schemas::name(account.budget->period)}});
}

QuotaLedger::Account& QuotaLedger::account(Db& db, bool of_key, std::string_view name) {
  std::string owner = of_key ? key_owner(name) : tenant_owner(name);
  if (const auto newer = newer_owners_.find(owner); newer != newer_owners_.end()) owner = newer->second;
  for (Account& each : accounts_) {
    if (each.owner == owner) return each;
  }
  Account account{.owner = std::move(owner), .limits = {}, .used = {}};
  std::string replaced_by;
  const auto load = [&](Statement s) {
    s.bind(account.owner, name).step();
    if (of_key) replaced_by = s.text(6);
    account.limits = schemas::limits_of(s.text(0)).or_else(of_key ? defaults_.key : defaults_.tenant);
    account.used = {s.integer(1), s.integer(2), s.integer(3)};
    account.version = s.integer(4);
    if (!s.is_null(5)) account.budget = schemas::budget_of(s.text(5));
  };
  if (of_key) {
    load(db.prepare_without_flush(R"(
        SELECT coalesce(k.limits, '{}'), coalesce(u.open_jobs, 0), coalesce(u.stored_jobs, 0),
            coalesce(u.stored_bytes, 0), coalesce(u.version, 0), k.budget, coalesce(k.rotated_to, '')
        FROM (SELECT 1) AS one LEFT JOIN api_keys AS k ON k.id = ?2
            LEFT JOIN quota_usage AS u ON u.owner = ?1
                AND u.version = (SELECT version FROM quota_usage WHERE owner = ?1
                    ORDER BY version DESC LIMIT 1))"_sql));
  } else {
    load(db.prepare_without_flush(R"(
        SELECT coalesce(t.limits, '{}'), coalesce(u.open_jobs, 0), coalesce(u.stored_jobs, 0),
            coalesce(u.stored_bytes, 0), coalesce(u.version, 0), t.budget
        FROM (SELECT 1) AS one LEFT JOIN tenants AS t ON t.name = ?2
            LEFT JOIN quota_usage AS u ON u.owner = ?1
                AND u.version = (SELECT version FROM quota_usage WHERE owner = ?1
                    ORDER BY version DESC LIMIT 1))"_sql));
  }
  if (!replaced_by.empty()) {
    Account& newer = this->account(db, true, replaced_by);
    newer_owners_.emplace(account.owner, newer.owner);
    return newer;
  }
  return accounts_.emplace_back(std::move(account));
}

std::string newest_key(Db& db, std::string key_id) {
  for (;;) {
    auto s = db.prepare("SELECT rotated_to FROM api_keys WHERE id = ?1 AND rotated_to IS NOT NULL");
    if (!s.bind(key_id).step()) return key_id;
    key_id = s.text(0);
  }
}

schemas::Limits QuotaLedger::tenant_limits(Db& db, const Owner& owner) {
  return account(db, false, owner.tenant).limits;
}

schemas::Limits QuotaLedger::key_limits(Db& db, const Owner& owner) {
  return owner.key_id.empty() ? schemas::Limits() : account(db, true, owner.key_id).limits;
}

template <class Use>
void QuotaLedger::for_accounts(Db& db, const Owner& owner, Use use) {
  use(account(db, false, owner.tenant), false);
  if (!owner.key_id.empty()) use(account(db, true, owner.key_id), true);
}

std::optional<base::Error> QuotaLedger::refusal(Db& db, const Owner& owner, const Delta& delta) {
  std::optional<base::Error> refused;
  for_accounts(db, owner, [&](const Account& account, bool of_key) {
    if (refused) return;
    if (const auto quota = exceeded(account.limits, account.used, delta))
      refused = quota_error(*quota, account.limits.of(*quota), of_key);
  });
  return refused;
}

std::int64_t QuotaLedger::pages_today(Db& db, Account& account) {
  if (!account.pages_today) {
    auto s = db.prepare_without_flush("SELECT pages FROM daily_usage WHERE owner = ?1 AND day = ?2");
    account.pages_today = s.bind(account.owner, utc_day(now_)).step() ? s.integer(0) : 0;
    for (const auto& [day, use] : account.days) {
      if (day == utc_day(now_)) *account.pages_today += use.pages;
    }
  }
  return *account.pages_today;
}

std::optional<base::Error> QuotaLedger::pages_refusal(Db& db, const Owner& owner, std::int64_t pages) {
  std::optional<base::Error> refused;
  for_accounts(db, owner, [&](Account& account, bool of_key) {
    const std::int64_t limit = account.limits.of(Quota::kPagesPerDay);
    if (refused || limit == schemas::kUnlimited || pages <= limit - pages_today(db, account)) return;
    refused = quota_error(Quota::kPagesPerDay, limit, of_key);
    refused->retry_after = start_of_day(utc_day(now_) + 1) - now_;
  });
  return refused;
}

// What this transaction changed before is added: the rows are written at its end.
QuotaLedger::Money& QuotaLedger::spent_in_period(Db& db, Account& account) {
  if (!account.spent_in_period) {
    const std::int64_t from = schemas::first_day(account.budget->period, utc_day(now_));
    auto s = db.prepare_without_flush(
        "SELECT coalesce(sum(cost_nano), 0), coalesce(sum(reserved_nano), 0) FROM daily_usage "
        "WHERE owner = ?1 AND day >= ?2");
    s.bind(account.owner, from).step();
    account.spent_in_period = {.cost = s.integer(0), .reserved = s.integer(1)};
    for (const auto& [day, use] : account.days) {
      if (day < from) continue;
      account.spent_in_period->cost += use.cost;
      account.spent_in_period->reserved += use.reserved;
    }
  }
  return *account.spent_in_period;
}

bool QuotaLedger::has_budget(Db& db, const Owner& owner) {
  bool found = false;
  for_accounts(db, owner, [&](const Account& account, bool /*of_key*/) {
    found = found || (account.budget && account.budget->hard);
  });
  return found;
}

std::optional<base::Error> QuotaLedger::budget_refusal(Db& db, const Owner& owner, schemas::NanoUsd more) {
  std::optional<base::Error> refused;
  if (more <= 0) return refused;
  for_accounts(db, owner, [&](Account& account, bool of_key) {
    if (refused || !account.budget || !account.budget->hard) return;
    const schemas::NanoUsd spent = spent_in_period(db, account).sum();
    if (more <= *account.budget->hard - spent) return;
    refused = budget_error(*account.budget, spent, more, of_key);
    const auto next = schemas::next_first_day(account.budget->period, utc_day(now_));
    if (next) refused->retry_after = start_of_day(*next) - now_;
  });
  return refused;
}

void QuotaLedger::add_day(Db& db, Account& account, std::int64_t day, const DayUse& use) {
  const bool counts = account.budget && day >= schemas::first_day(account.budget->period, utc_day(now_));
  if (counts) {
    Money& spent = spent_in_period(db, account);
    if (account.budget->soft) warn_at_soft_limit(account, spent.cost, use.cost);
    spent.cost += use.cost;
    spent.reserved += use.reserved;
  }
  if (account.pages_today && day == utc_day(now_)) *account.pages_today += use.pages;
  auto found = std::ranges::find(account.days, day, &std::pair<std::int64_t, DayUse>::first);
  if (found == account.days.end()) found = account.days.insert(found, {day, {}});
  DayUse& sum = found->second;
  sum.pages += use.pages;
  sum.cost += use.cost;
  sum.reserved += use.reserved;
  sum.requests += use.requests;
  sum.tokens += use.tokens;
  sum.audio_ms += use.audio_ms;
}

void QuotaLedger::add_use(Db& db, const Owner& owner, std::int64_t day, const DayUse& use) {
  for_accounts(db, owner, [&](Account& account, bool /*of_key*/) { add_day(db, account, day, use); });
}

std::int64_t QuotaLedger::bytes_left(Db& db, const Owner& owner) {
  std::int64_t least = schemas::kUnlimited;
  for_accounts(db, owner, [&](const Account& account, bool /*of_key*/) {
    const std::int64_t limit = account.limits.of(Quota::kStoredBytes);
    if (limit == schemas::kUnlimited) return;
    const std::int64_t left = limit - std::max<std::int64_t>(0, account.used.stored_bytes);
    least = std::min(least, std::max<std::int64_t>(0, left));
  });
  return least;
}

void QuotaLedger::add(Db& db, const Owner& owner, const Delta& delta) {
  for_accounts(db, owner, [&](Account& account, bool /*of_key*/) {
    account.used.open_jobs += delta.open_jobs;
    account.used.stored_jobs += delta.stored_jobs;
    account.used.stored_bytes += delta.stored_bytes;
    account.changed = true;
  });
}

void QuotaLedger::move_key(Db& db, std::string_view from, std::string_view to) {
  write(db);
  accounts_.clear();
  newer_owners_.clear();
  const std::string before = key_owner(from), after = key_owner(to);
  db.prepare("UPDATE quota_usage SET owner = ?2 WHERE owner = ?1").bind(before, after).run();
  db.prepare("UPDATE daily_usage SET owner = ?2 WHERE owner = ?1").bind(before, after).run();
}

// On PostgreSQL the row gets another key, so that no read passes the versions that an open snapshot keeps.
void QuotaLedger::write_use(Db& db, const Account& account) {
  const bool moves = db.has_round_trips();
  if (moves) {
    db.prepare("DELETE FROM quota_usage WHERE owner = ?1 AND version = ?2")
        .bind(account.owner, account.version)
        .run();
  }
  const Sql insert = moves ? R"(
          INSERT INTO quota_usage (owner, open_jobs, stored_jobs, stored_bytes, version)
          VALUES (?1, ?2, ?3, ?4, ?5))"_sql
                           : R"(
          INSERT INTO quota_usage (owner, open_jobs, stored_jobs, stored_bytes, version)
          VALUES (?1, ?2, ?3, ?4, ?5)
          ON CONFLICT (owner, version) DO UPDATE SET open_jobs = excluded.open_jobs,
              stored_jobs = excluded.stored_jobs, stored_bytes = excluded.stored_bytes)"_sql;
  db.prepare(insert)
      .bind(account.owner, account.used.open_jobs, account.used.stored_jobs, account.used.stored_bytes,
            moves ? account.version + 1 : account.version)
      .run();
}

void QuotaLedger::write(Db& db) {
  for (const Account& account : accounts_) {
    for (const auto& [day, use] : account.days) {
      db.prepare(R"(
            INSERT INTO daily_usage (owner, day, pages, cost_nano, reserved_nano, requests, tokens, audio_ms)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
            ON CONFLICT (owner, day) DO UPDATE SET pages = daily_usage.pages + excluded.pages,
                cost_nano = daily_usage.cost_nano + excluded.cost_nano,
                reserved_nano = daily_usage.reserved_nano + excluded.reserved_nano,
                requests = daily_usage.requests + excluded.requests, tokens = daily_usage.tokens + excluded.tokens,
                audio_ms = daily_usage.audio_ms + excluded.audio_ms)"_sql)
          .bind(account.owner, day, use.pages, use.cost, use.reserved, use.requests, use.tokens, use.audio_ms)
          .run();
    }
    if (account.changed) write_use(db, account);
  }
}

}  // namespace millrace::storage
