#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "platform/base/clock.h"
#include "platform/base/crypto.h"
#include "schemas/admin_request.h"
#include "schemas/key_access.h"
#include "schemas/tenants/budget.h"
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
  schemas::KeyAccess access = {};
  std::optional<schemas::Budget> budget = {};
  std::string rotated_to = {};  // id of the key that replaced it; empty: none

  bool is_live(base::WallTime now) const { return !revoked_at && (!expires_at || *expires_at > now); }
};

// kNotFound, with one text: the key does not exist, has ended, or is one that the caller must not know of.
base::Error no_such_key();

// Decides in the transaction whether the operation may be done on this key. Its error is the result.
using KeyCheck = std::function<base::Status(const ApiKeyRow& key)>;
using KeyChangeCheck = std::function<base::Status(const ApiKeyRow& before, const ApiKeyRow& after)>;

class ApiKeys {
 public:
  explicit ApiKeys(Store& store) : store_(store) {}

  // Writes. Each raises access_version in its transaction and is audited as an action of `actor`.
  // kKeyInvalid: `actor` is the id of a key that is not live.
  // kInvalidState: the id exists.
  void create(ApiKeyRow key, Callback<bool> done, std::string actor = "gateway");
  // The first key with scope admin. kInvalidState: the id exists, or there is a live key with that scope.
  void create_first_admin(ApiKeyRow key, Callback<bool> done);
  // kNotFound; kOverloaded while the store is degraded.
  void revoke(std::string id, Callback<bool> done, std::string actor = "gateway", KeyCheck may = {});
  // The old key expires at `ends`, or at its own expiry if that is earlier. `new_key` replaces it from now
  // on; it gets the old key's name, tenant, scopes, access, limits and expiry, and continues its use.
  // kNotFound: no such key, or it is revoked or expired. kInvalidState: it has been replaced, and that key is
  // live.
  void rotate(std::string id, ApiKeyRow new_key, base::WallTime ends, Callback<bool> done,
              std::string actor = "gateway", KeyCheck may = {});
  // kNotFound: no such key, or it is revoked. `may` gets the key as it is and as it becomes.
  void change(std::string id, schemas::KeyChange change, Callback<bool> done, std::string actor = "gateway",
              KeyChangeCheck may = {});
  void touch(std::vector<std::string> ids,
             Callback<bool> done);  // sets last_used_at = now; does not raise the version

  // Reads; blocking.
  base::Result<std::vector<ApiKeyRow>> all();
  base::Result<std::optional<ApiKeyRow>> find(const std::string& id);
  base::Result<std::int64_t> version();

 private:
  Store& store_;
};

// Inside storage: a request that was admitted before its own key ended, or lost its scope, must not leave a
// change behind. An actor that is no key is the gateway or a command on its host. kKeyInvalid, kForbidden.
base::Status check_administrator(Tx& tx, const std::string& actor);

}  // namespace millrace::storage
