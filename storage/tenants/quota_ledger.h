#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/base/clock.h"
#include "platform/base/result.h"
#include "schemas/tenants/budget.h"
#include "schemas/tenants/limits.h"
#include "storage/db/db.h"

namespace millrace::storage {

// The limits of owners that have none of their own. Absent: no limit.
struct QuotaDefaults {
  schemas::Limits tenant;
  schemas::Limits key;
};

// Whose quotas apply: a tenant, and the API key of the request (empty: none). A key that was rotated shares
// the limits and the use of the key that replaced it.
struct Owner {
  std::string_view tenant;
  std::string_view key_id;
};

// Inside storage: what owners have stored and used, as one transaction sees and changes it. Changes are
// collected and written once per owner at the end of the transaction. Used by one transaction.
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

  // What an owner has used on a day.
  struct DayUse {
    std::int64_t pages = 0;
    schemas::NanoUsd cost = 0, reserved = 0;
    std::int64_t requests = 0, tokens = 0, audio_ms = 0;
  };
  void add_use(Db& db, const Owner& owner, std::int64_t day, const DayUse& use);
  // True: the tenant or the key has a hard budget.
  bool has_budget(Db& db, const Owner& owner);
  // kBudgetExceeded if what the tenant or the key has spent and reserved in the period of its budget exceeds
  // it with `more`.
  std::optional<base::Error> budget_refusal(Db& db, const Owner& owner, schemas::NanoUsd more);
  // Bytes that may be added: the smaller of what the tenant and the key have left. At least 0.
  std::int64_t bytes_left(Db& db, const Owner& owner);
  void add(Db& db, const Owner& owner, const Delta& delta);
  // The key `to` replaces `from`, which is not replaced yet: it continues what `from` has used.
  void move_key(Db& db, std::string_view from, std::string_view to);

  // Writes the collected changes. Call it before COMMIT.
  void write(Db& db);

 private:
  struct Money {
    schemas::NanoUsd cost = 0, reserved = 0;
    schemas::NanoUsd sum() const { return cost + reserved; }
  };
  struct Account {
    std::string owner;  // "t:NAME" or "k:ID"
    schemas::Limits limits;
    Delta used;
    std::optional<schemas::Budget> budget{};
    std::int64_t version = 0;  // of the row in quota_usage
    bool changed = false;
    std::optional<std::int64_t> pages_today{};            // read when it is needed, like the next
    std::optional<Money> spent_in_period{};               // and reserved
    std::vector<std::pair<std::int64_t, DayUse>> days{};  // changes
  };
  std::int64_t pages_today(Db& db, Account& account);
  Money& spent_in_period(Db& db, Account& account);
  static void warn_at_soft_limit(const Account& account, schemas::NanoUsd spent, schemas::NanoUsd more);
  static void write_use(Db& db, const Account& account);
  void add_day(Db& db, Account& account, std::int64_t day, const DayUse& use);
  Account& account(Db& db, bool of_key, std::string_view name);
  // The accounts of the owner: of the tenant, and of the key if there is one.
  template <class Use>
  void for_accounts(Db& db, const Owner& owner, Use use);

  const QuotaDefaults& defaults_;
  const base::WallTime now_;
  std::vector<Account> accounts_;
  std::map<std::string, std::string> newer_owners_;  // of replaced keys: the owner that counts for them
};

// kQuotaExceeded or kQuotaFull: the owner's limit for `quota` is reached. `of_key`: the key's limit, else the
// tenant's. The error's `param` is the quota's name.
base::Error quota_error(schemas::Quota quota, std::int64_t limit, bool of_key);

// kBudgetExceeded: a budget allows only models with a price. `model`: the one without; empty: not known.
base::Error no_price_error(std::string_view model = {});

// Days since 1970 (UTC), as in daily_usage.
std::int64_t utc_day(base::WallTime time);
base::WallTime start_of_day(std::int64_t day);
// The texts of the owner columns.
std::string tenant_owner(std::string_view tenant);
std::string key_owner(std::string_view key_id);
// The key that has replaced `key_id`, at the end of a chain of rotations; without one, `key_id`.
std::string newest_key(Db& db, std::string key_id);

}  // namespace millrace::storage
