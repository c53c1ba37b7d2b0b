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
  std::int64_t pages = 0;  // of OCR, in the period
  std::int64_t machines = 0, memory_mib = 0, storage_gib = 0, ssh_sessions = 0;
  double vcpu = 0;
};

// For what is counted over time: since midnight UTC, since the first day of the month, or since ever.
enum class UsagePeriod : std::uint8_t { kDay, kMonth, kTotal };
std::optional<UsagePeriod> period_named(std::string_view name);  // "day", "month", "total"

struct TenantView {
  std::string name;
  schemas::Limits own;     // the limits that were set
  schemas::Limits limits;  // all that apply
  QuotaUse use;
};

// Tenants: their limits and what they use. A tenant exists as soon as a key names it or a limit is set.
// `find` and `list` block: for pool threads.
class Tenants {
 public:
  explicit Tenants(Store& store) : store_(store) {}

  // Replaces the limits of a tenant. Audited as an action of `actor`. All processes apply them within a
  // second.
  void set_limits(std::string tenant, schemas::Limits limits, Callback<bool> done, std::string actor);
  base::Result<TenantView> find(
      const std::string& tenant,
      UsagePeriod period = UsagePeriod::kDay);   // also a tenant without keys and limits
  base::Result<std::vector<TenantView>> list();  // by name
  // Bytes that the owners of a job may still store. At least 0.
  base::Result<std::int64_t> bytes_left(const schemas::JobId& job);
  // The limits that were set, by tenant.
  base::Result<std::unordered_map<std::string, schemas::Limits>> limits();
  // What the key uses, with all limits that apply to it as a key.
  base::Result<TenantView> of_key(const std::string& key_id, UsagePeriod period = UsagePeriod::kDay);

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
