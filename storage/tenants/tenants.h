#pragma once
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "schemas/machines/machine.h"
#include "schemas/tenants/limits.h"
#include "storage/store.h"
#include "storage/tenants/quota_ledger.h"

namespace millrace::storage {

// What a tenant or a key uses of its quotas now.
struct QuotaUse {
  std::int64_t running_jobs = 0, stored_jobs = 0, stored_bytes = 0;
  QuotaLedger::DayUse in_period{};
  std::int64_t machines = 0, memory_mib = 0, storage_gib = 0, ssh_sessions = 0;
  double vcpu = 0;
};

struct TenantView {
  std::string name;
  schemas::Limits own;     // the limits that were set
  schemas::Limits limits;  // all that apply
  std::optional<schemas::Budget> budget;
  schemas::NanoUsd budget_used = 0;  // spent and reserved in the period of the budget
  QuotaUse use;
};

// Tenants: their limits and what they use. A tenant exists as soon as a key names it or a limit is set.
// `find` and `list` block: for pool threads.
class Tenants {
 public:
  explicit Tenants(Store& store) : store_(store) {}

  // Replaces the limits and the budget of a tenant. Audited as an action of `actor`. All processes apply them
  // within a second.
  struct Settings {
    schemas::Limits limits{};
    std::optional<schemas::Budget> budget{};
  };
  void set(std::string tenant, Settings settings, Callback<bool> done, std::string actor);
  base::Result<TenantView> find(
      const std::string& tenant,
      schemas::UsagePeriod period = schemas::UsagePeriod::kDay);  // also a tenant without keys and limits
  base::Result<std::vector<TenantView>> list();                   // by name
  // Bytes that the owners of a job may still store. At least 0.
  base::Result<std::int64_t> bytes_left(const schemas::JobId& job);
  // True: the tenant or the key has a hard budget.
  base::Result<bool> has_budget(const Owner& owner);
  // kQuotaFull: the tenant has used up its stored_bytes.
  base::Status check_stored_bytes(const std::string& tenant);
  // What was set, by tenant.
  base::Result<std::unordered_map<std::string, Settings>> settings();
  // What the key uses, with all limits that apply to it as a key.
  base::Result<TenantView> of_key(const std::string& key_id,
                                  schemas::UsagePeriod period = schemas::UsagePeriod::kDay);

 private:
  Store& store_;
};

// Inside storage: quotas of machines and SSH sessions, which are counted from their rows.

// The refusal if the owners may not have `machine`. `before`: its size until now; null: it is new. Only
// quotas that grow are checked.
std::optional<base::Error> machine_quota_refusal(Tx& tx, const Owner& owner, const schemas::Machine& machine,
                                                 const schemas::Machine* before);
std::optional<base::Error> ssh_quota_refusal(Tx& tx, const Owner& owner);
// The key that created the machine; empty: none did.
std::string machine_key(Db& db, const base::Uuid& machine);

}  // namespace millrace::storage
