#pragma once
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/base/crypto.h"
#include "platform/base/result.h"
#include "schemas/access.h"
#include "storage/admin/api_keys.h"

// API keys as the commands `millrace keys …` and the first start use them. Everything here blocks until the
// commit: never on a loop, front or announce thread.
namespace millrace::api {

base::Sha256Digest key_mac(std::string_view pepper, std::string_view key_text);

// DATA/pepper (api/admission/keys.h); a store without keys gets one. kInternal: the store has keys and the
// file is missing, so that none of them could work.
base::Result<std::string> pepper_of(storage::Store& store);

struct NewKey {
  std::string name = {};
  std::string tenant = "default";
  schemas::ScopeSet scopes = schemas::ScopeSet::of_a_new_key();
  std::optional<base::WallTime> expires_at = {};
};

struct MadeKey {
  std::string text;  // shown once, stored nowhere
  storage::ApiKeyRow row;
};

// `actor` is for the audit log. kInvalidField: name or tenant is empty, longer than 64 or not of
// [A-Za-z0-9._-].
base::Result<MadeKey> create_key(storage::Store& store, std::string_view pepper, const NewKey& requested,
                                 const std::string& actor = "gateway");
base::Result<std::vector<storage::ApiKeyRow>> list_keys(storage::Store& store);
// A new key in the place of one that goes on for `overlap`, so that clients can change over. kNotFound: no
// such id, or it is revoked.
base::Result<MadeKey> rotate_key(storage::Store& store, std::string_view pepper, const std::string& id,
                                 std::chrono::seconds overlap, const std::string& actor = "gateway");
// From within a second on the key works nowhere. kNotFound: no such id.
base::Status revoke_key(storage::Store& store, const std::string& id, const std::string& actor = "gateway");

// A store without a live key of scope admin gets one of tenant `default` with every scope, whose text is put
// into DATA/admin.key (0600). A file that is there already, left by a start that was cut short, is used; one
// whose key was revoked or has expired is replaced.
base::Status ensure_admin_key(storage::Store& store, std::string_view pepper);

// The text of a 0600 file that is made once. If `path` is missing it is written with what `make` gives,
// complete and on disk before it has its name, so that of several processes that start at once one wins and
// all read the same. Blocks. Errors name the path: they are for the operator, never for a client.
base::Result<std::string> secret_file(const std::string& path, const std::function<std::string()>& make);

// DATA/pepper: the key of every HMAC over an API key, made on the first start. Without it no stored key
// works.
base::Result<std::string> pepper(const std::string& data_dir);

// DATA/secret.key: what is encrypted at rest is sealed under it. 32 bytes, made on the first use.
base::Result<std::string> secret_key(const std::string& data_dir);

}  // namespace millrace::api
