#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "platform/base/clock.h"
#include "platform/base/crypto.h"
#include "schemas/tenants/limits.h"
#include "storage/store.h"

namespace millrace::storage {

// An API key as stored: never the key itself, only HMAC-SHA-256(pepper, key) (docs/design/security.md §3).
struct ApiKeyRow {
  std::string id;  // the 8 characters of mr_live_<id>_…
  base::Sha256Digest mac{};
  std::string name;
  std::string tenant;
  std::vector<std::string> scopes;
  schemas::Limits limits{};  // that were set for this key
  base::WallTime created_at{};
  std::optional<base::WallTime> expires_at, revoked_at, last_used_at;
};

class ApiKeys {
 public:
  explicit ApiKeys(Store& store) : store_(store) {}

  // Writes. Each raises access_version in its transaction and is audited as an action of `actor`.
  // kInvalidState: the id exists.
  void create(ApiKeyRow key, Callback<bool> done, std::string actor = "gateway");
  // kNotFound; kOverloaded while the store is degraded.
  void revoke(std::string id, Callback<bool> done, std::string actor = "gateway");
  // The old key expires at `ends`, or at its own expiry if that is earlier. `fresh` replaces it from now on;
  // it gets the old key's name, tenant, scopes and expiry. kNotFound: no such key, or it is revoked or
  // expired.
  void rotate(std::string id, ApiKeyRow new_key, base::WallTime ends, Callback<bool> done,
              std::string actor = "gateway");
  void touch(std::vector<std::string> ids,
             Callback<bool> done);  // sets last_used_at = now; does not raise the version

  // Reads; blocking.
  base::Result<std::vector<ApiKeyRow>> all();
  base::Result<std::optional<ApiKeyRow>> find(const std::string& id);
  base::Result<std::int64_t> version();

 private:
  Store& store_;
};

}  // namespace millrace::storage
