#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/base/clock.h"
#include "platform/base/result.h"
#include "schemas/tenants/limits.h"
#include "storage/sqlite/database.h"

namespace millrace::storage {

// The limits of owners that have none of their own. Absent: no limit.
struct QuotaDefaults {
  schemas::Limits tenant;
  schemas::Limits key;
};

// Whose quotas apply: a tenant, and the API key of the request (empty: none).
struct Owner {
  std::string_view tenant;
  std::string_view key_id;
};

// Inside storage: what owners have stored, as one transaction sees and changes it. Changes are collected and
// written once per owner at the end of the transaction. Used by one transaction.
class QuotaLedger {
 public:
  // A change of what an owner has stored.
  struct Delta {
    std::int64_t open_jobs = 0;
    std::int64_t stored_jobs = 0;
    std::int64_t stored_bytes = 0;
  };

  QuotaLedger(const QuotaDefaults& defaults, base::WallTime now) : defaults_(defaults), now_(now) {}

  // The limits of the tenant and of the key; the key's are unlimited without a key.
  schemas::Limits tenant_limits(Db& db, const Owner& owner);
  schemas::Limits key_limits(Db& db, const Owner& owner);

  // The refusal if the tenant or the key would exceed a limit with `delta`. Quotas that `delta` does not
  // raise are not checked.
  std::optional<base::Error> refusal(Db& db, const Owner& owner, const Delta& delta);
  // The refusal if the tenant or the key would exceed its pages_per_day with `pages` more today (UTC).
  std::optional<base::Error> pages_refusal(Db& db, const Owner& owner, std::int64_t pages);
  void add_pages(Db& db, const Owner& owner, std::int64_t pages);
  // Bytes that may be added: the smaller of what the tenant and the key have left. At least 0.
  std::int64_t bytes_left(Db& db, const Owner& owner);
  void add(Db& db, const Owner& owner, const Delta& delta);

  // Writes the collected changes. Call it before COMMIT.
  void write(Db& db);

 private:
  struct Account {
    std::string owner;  // "t:NAME" or "k:ID"
    schemas::Limits limits;
    Delta used;
    bool changed = false;
    std::optional<std::int64_t> pages_today{};  // read when it is needed
    bool pages_changed = false;
  };
  std::int64_t& pages_today(Db& db, Account& account);
  Account& account(Db& db, bool of_key, std::string_view name);

  const QuotaDefaults& defaults_;
  const base::WallTime now_;
  std::vector<Account> accounts_;
};

// kQuotaExceeded or kQuotaFull: the owner's limit for `quota` is reached. `of_key`: the key's limit, else the
// tenant's. The error's `param` is the quota's name.
base::Error quota_error(schemas::Quota quota, std::int64_t limit, bool of_key);

// Days since 1970 (UTC), as in daily_usage.
std::int64_t utc_day(base::WallTime time);
// The texts of the owner columns.
std::string tenant_owner(std::string_view tenant);
std::string key_owner(std::string_view key_id);

}  // namespace millrace::storage
