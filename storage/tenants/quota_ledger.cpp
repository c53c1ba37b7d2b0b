#include "storage/tenants/quota_ledger.h"

#include <algorithm>
#include <array>

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

QuotaLedger::Account& QuotaLedger::account(Db& db, bool of_key, std::string_view name) {
  std::string owner = of_key ? key_owner(name) : tenant_owner(name);
  for (Account& each : accounts_) {
    if (each.owner == owner) return each;
  }
  Account account{.owner = std::move(owner), .limits = {}, .used = {}};
  const auto load = [&](Statement s) {
    s.bind(account.owner, name).step();
    account.limits = schemas::limits_of(s.text(0)).or_else(of_key ? defaults_.key : defaults_.tenant);
    account.used = {s.integer(1), s.integer(2), s.integer(3)};
  };
  if (of_key) {
    load(db.prepare_without_flush(R"(
        SELECT coalesce(k.limits, '{}'), coalesce(u.open_jobs, 0), coalesce(u.stored_jobs, 0),
            coalesce(u.stored_bytes, 0)
        FROM (SELECT 1) LEFT JOIN api_keys AS k ON k.id = ?2 LEFT JOIN quota_usage AS u ON u.owner = ?1)"_sql));
  } else {
    load(db.prepare_without_flush(R"(
        SELECT coalesce(t.limits, '{}'), coalesce(u.open_jobs, 0), coalesce(u.stored_jobs, 0),
            coalesce(u.stored_bytes, 0)
        FROM (SELECT 1) LEFT JOIN tenants AS t ON t.name = ?2 LEFT JOIN quota_usage AS u ON u.owner = ?1)"_sql));
  }
  return accounts_.emplace_back(std::move(account));
}

schemas::Limits QuotaLedger::tenant_limits(Db& db, const Owner& owner) {
  return account(db, false, owner.tenant).limits;
}

schemas::Limits QuotaLedger::key_limits(Db& db, const Owner& owner) {
  return owner.key_id.empty() ? schemas::Limits() : account(db, true, owner.key_id).limits;
}

std::optional<base::Error> QuotaLedger::refusal(Db& db, const Owner& owner, const Delta& delta) {
  for (const bool of_key : {false, true}) {
    if (of_key && owner.key_id.empty()) continue;
    const Account& account = this->account(db, of_key, of_key ? owner.key_id : owner.tenant);
    if (const auto quota = exceeded(account.limits, account.used, delta))
      return quota_error(*quota, account.limits.of(*quota), of_key);
  }
  return std::nullopt;
}

std::int64_t& QuotaLedger::pages_today(Db& db, Account& account) {
  if (!account.pages_today) {
    auto s = db.prepare_without_flush("SELECT pages FROM daily_usage WHERE owner = ?1 AND day = ?2");
    account.pages_today = s.bind(account.owner, utc_day(now_)).step() ? s.integer(0) : 0;
  }
  return *account.pages_today;
}

std::optional<base::Error> QuotaLedger::pages_refusal(Db& db, const Owner& owner, std::int64_t pages) {
  for (const bool of_key : {false, true}) {
    if (of_key && owner.key_id.empty()) continue;
    Account& account = this->account(db, of_key, of_key ? owner.key_id : owner.tenant);
    const std::int64_t limit = account.limits.of(Quota::kPagesPerDay);
    if (limit == schemas::kUnlimited || pages <= limit - pages_today(db, account)) continue;
    base::Error error = quota_error(Quota::kPagesPerDay, limit, of_key);
    error.retry_after = base::wall_from((utc_day(now_) + 1) * kDayMs) - now_;
    return error;
  }
  return std::nullopt;
}

void QuotaLedger::add_pages(Db& db, const Owner& owner, std::int64_t pages) {
  for (const bool of_key : {false, true}) {
    if (of_key && owner.key_id.empty()) continue;
    Account& account = this->account(db, of_key, of_key ? owner.key_id : owner.tenant);
    pages_today(db, account) += pages;
    account.pages_changed = true;
  }
}

std::int64_t QuotaLedger::bytes_left(Db& db, const Owner& owner) {
  const auto left = [](const Account& account) {
    const std::int64_t limit = account.limits.of(Quota::kStoredBytes);
    if (limit == schemas::kUnlimited) return limit;
    return std::max<std::int64_t>(0, limit - std::max<std::int64_t>(0, account.used.stored_bytes));
  };
  const std::int64_t of_tenant = left(account(db, false, owner.tenant));
  if (owner.key_id.empty()) return of_tenant;
  return std::min(of_tenant, left(account(db, true, owner.key_id)));
}

void QuotaLedger::add(Db& db, const Owner& owner, const Delta& delta) {
  for (const bool of_key : {false, true}) {
    if (of_key && owner.key_id.empty()) continue;
    Account& account = this->account(db, of_key, of_key ? owner.key_id : owner.tenant);
    account.used.open_jobs += delta.open_jobs;
    account.used.stored_jobs += delta.stored_jobs;
    account.used.stored_bytes += delta.stored_bytes;
    account.changed = true;
  }
}

void QuotaLedger::write(Db& db) {
  for (const Account& account : accounts_) {
    if (account.pages_changed) {
      db.prepare(R"(
            INSERT INTO daily_usage (owner, day, pages) VALUES (?1, ?2, ?3)
            ON CONFLICT (owner, day) DO UPDATE SET pages = excluded.pages)"_sql)
          .bind(account.owner, utc_day(now_), *account.pages_today)
          .run();
    }
    if (!account.changed) continue;
    db.prepare(R"(
          INSERT INTO quota_usage (owner, open_jobs, stored_jobs, stored_bytes) VALUES (?1, ?2, ?3, ?4)
          ON CONFLICT (owner) DO UPDATE SET open_jobs = excluded.open_jobs,
              stored_jobs = excluded.stored_jobs, stored_bytes = excluded.stored_bytes)"_sql)
        .bind(account.owner, account.used.open_jobs, account.used.stored_jobs, account.used.stored_bytes)
        .run();
  }
}

}  // namespace millrace::storage
