#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/admission/byte_budget.h"
#include "api/admission/failed_attempts.h"
#include "api/admission/refused_keys.h"
#include "api/front/exchange.h"
#include "platform/base/ip_address.h"
#include "schemas/access.h"
#include "schemas/key_access.h"
#include "schemas/tenants/budget.h"
#include "schemas/tenants/limits.h"
#include "storage/admin/api_keys.h"

namespace millrace::api {

// The caller, as identified by a valid API key.
struct Principal {
  std::string key_id;
  std::string first_key_id = {};  // of the rotations that led to this key, else `key_id`: counts limits
  std::string tenant;
  schemas::ScopeSet scopes;
  schemas::KeyAccess access = {};
  std::optional<base::WallTime> expires_at = {};
  // Limits that apply to the key, and those that were set for it; the same of its tenant.
  schemas::Limits key_limits, key_own_limits, tenant_limits, tenant_own_limits;
  std::optional<schemas::Budget> key_budget, tenant_budget;
  std::shared_ptr<ByteBudget::Share> bodies;  // of the tenant: its part of http.body_budget

  bool has_hard_budget() const {
    return (key_budget && key_budget->hard) || (tenant_budget && tenant_budget->hard);
  }
};
using PrincipalPtr = std::shared_ptr<const Principal>;

// The credential of a request: a non-empty Bearer token, else X-API-Key. Empty headers count as absent
// (docs/design/http-contract.md §0). An empty result means that there is none.
std::string_view credential(const front::Head& head);

// The errors for a rejected key: by Decision::refusal, and for a missing scope.
base::Error key_error(base::Code refusal, std::chrono::milliseconds retry_after = {});
base::Error scope_error(const Principal& principal, schemas::Scope missing);

// The API keys in memory. They are loaded at start. All are reloaded when access_version in the store has
// changed. That is checked regularly (LiveCalls::kRefreshEvery), when an id is unknown (at most
// kStoreLookupsPerSecond), and after each change of a key that this process makes, also a new key: limits,
// budgets and rotations connect the keys. Thread-safe.
class Auth {
 public:
  static constexpr int kStoreLookupsPerSecond = 1'000;       // each reads one row, about 20 µs
  static constexpr std::chrono::seconds kTouchInterval{60};  // how often last_used of a key in use is written

  // `failed_keys_per_minute`: see FailedAttempts.
  Auth(storage::Store& store, std::string_view pepper, int failed_keys_per_minute);

  struct Decision {
    PrincipalPtr principal;     // set: the key is valid
    bool needs_lookup = false;  // the id is unknown: call `look_up` on the pool
    base::Code refusal = base::Code::kKeyInvalid;
    std::chrono::milliseconds retry_after{0};  // of kRateLimited: too many wrong keys (FailedAttempts)
  };
  // `address`: of the client. Never blocks; runs on lane front. Less than 1 µs (HMAC-SHA-256, compared in
  // constant time).
  Decision check(std::string_view key_text, std::string_view address);
  // After `needs_lookup`: reads the keys if they have changed, and checks again. Blocks; runs on the pool.
  Decision look_up(std::string_view key_text, std::string_view address);

  // The caller with this key, for work in its name; null: the key is unknown, revoked or expired. Reads the
  // keys if it is not in memory; blocks then.
  base::Result<PrincipalPtr> principal_of(const std::string& key_id);

  // Reads all keys if access_version has changed, and writes last_used of the keys in use. Returns the ids of
  // the keys that were revoked, have expired or have lost rights since the previous call. Blocks; runs on the
  // pool (LiveCalls::kRefreshEvery). On an error the table stays unchanged.
  base::Result<std::vector<std::string>> refresh();

 private:
  struct Entry {
    base::Sha256Digest mac{};
    PrincipalPtr principal;
    std::optional<std::vector<base::IpRange>> ip_ranges;  // absent: every address
    std::optional<base::WallTime> expires_at;
    bool revoked = false;
    mutable std::atomic<std::int64_t> touched_ms{0};
    mutable std::atomic<bool> ended{false};  // `refresh` has returned it as ended

    bool is_live(base::WallTime now) const { return !revoked && (!expires_at || *expires_at > now); }
  };
  using Table = std::unordered_map<std::string, std::shared_ptr<const Entry>>;

  std::shared_ptr<const Table> table() const;
  base::Status load_changes();
  base::Status load(std::int64_t version);
  Decision check_entry(const Entry& entry, std::string_view key_text, std::string_view address);
  void record_use(const Entry& entry, std::int64_t now_ms);
  bool may_query_store();
  void flush_touches();
  void flush_refused_keys();
  Decision refuse(std::string_view key_id, std::string_view address, Decision decision);
  std::vector<std::string> take_ended();

  storage::Store& store_;
  storage::ApiKeys rows_;
  const base::HmacSha256 pepper_;
  FailedAttempts failed_;
  RefusedKeys refused_keys_;
  std::mutex load_mutex_;     // one load at a time; look-ups that wait for it need none of their own
  mutable std::mutex mutex_;  // guards all below
  std::shared_ptr<const Table> table_ = std::make_shared<Table>();
  std::int64_t version_ = -1;
  std::vector<std::string> to_touch_;
  std::vector<std::string> reduced_;  // keys that have lost rights, for the next `refresh`
  std::int64_t lookup_second_ = 0;
  int lookups_ = 0;
};

// The look-up of one request's key, which may be made before the request has arrived and is needed again when
// it runs. A key that was refused once is not looked up again, so it counts as one failed attempt.
// Thread-safe.
class KeyLookUp {
 public:
  Auth::Decision look_up(Auth& auth, std::string_view key_text, std::string_view address);

 private:
  std::mutex mutex_;
  std::optional<Auth::Decision> refusal_;
};

}  // namespace millrace::api
