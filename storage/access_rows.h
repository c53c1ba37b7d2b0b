#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "platform/base/clock.h"
#include "platform/base/crypto.h"
#include "storage/store.h"

namespace millrace::storage {

// An API key as stored: never the key itself, only HMAC-SHA-256(pepper, key) (security.md §3).
struct KeyRow {
  std::string id;  // the 8 characters of mr_live_<id>_…
  base::Sha256Digest mac{};
  std::string name;
  std::string tenant;
  std::vector<std::string> scopes;
  base::WallTime created_at{};
  std::optional<base::WallTime> expires_at, revoked_at, last_used_at;
};

class AccessRows {
 public:
  explicit AccessRows(Store& store) : store_(store) {}

  // Moves; each raises access_version in its transaction, and is audited as the act of `actor`.
  // kInvalidState: the id exists.
  void create(KeyRow key, Done<bool> done, std::string actor = "gateway");
  // kNotFound; kOverloaded while the store is degraded.
  void revoke(std::string id, Done<bool> done, std::string actor = "gateway");
  // The key ends at `ends`, or earlier if it was to, and `fresh` takes its place from now on: name, tenant,
  // scopes and its own end are the old one's. kNotFound: no such key, or it is revoked or over.
  void rotate(std::string id, KeyRow fresh, base::WallTime ends, Done<bool> done,
              std::string actor = "gateway");
  void touch(std::vector<std::string> ids,
             Done<bool> done);  // last_used_at = now; does not raise the version

  // Reads; blocking.
  base::Result<std::vector<KeyRow>> all();
  base::Result<std::optional<KeyRow>> find(const std::string& id);
  base::Result<std::int64_t> version();

 private:
  Store& store_;
};

}  // namespace millrace::storage
