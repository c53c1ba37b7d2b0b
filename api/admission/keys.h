#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machines/keys/ssh_authority.h"
#include "platform/base/crypto.h"
#include "platform/base/result.h"
#include "schemas/admin_request.h"
#include "storage/admin/api_keys.h"

// API key operations for the commands `millrace keys …` and the first start. All functions block until the
// commit. Do not call them on a loop, front or completion-dispatcher thread.
namespace millrace::api {

// The rule for names of keys and tenants: 1 to 64 characters of A-Z a-z 0-9 . _ -
bool is_valid_name(std::string_view name);

base::Sha256Digest key_mac(std::string_view pepper, std::string_view key_text);

// SECRETS/pepper, in Store::secrets_dir; it is created if the store has no keys. kInternal: the store has
// keys but the file is missing or not the one that the store was used with, so no key can be verified.
base::Result<std::string> pepper_of(storage::Store& store);
// SECRETS/secret.key; it is created for a new store. kInternal: as `pepper_of`, for what the store has
// encrypted.
base::Result<std::string> secret_key_of(storage::Store& store);
// For `millrace doctor`: what is wrong with the secret files of a store, and what to do. `checks` are the
// rows of the store (storage/admin/secret_checks.h). Creates nothing, unless a file is removed meanwhile.
std::vector<std::string> secret_file_problems(const std::string& secrets_dir,
                                              const std::map<std::string, std::string>& checks,
                                              bool has_keys);
// The SSH authorities in SECRETS/ca; they are created for a new store. If several hosts may share the store,
// all must have the same ones. kInternal: they are missing or not those that the store was used with.
base::Result<std::shared_ptr<const machines::SshAuthority>> authority_of(storage::Store& store);
// From now on the present files are those of the store. What was made with others cannot be read.
base::Status accept_secrets(storage::Store& store, const std::string& actor);

struct MadeKey {
  std::string text;  // shown once, never stored
  storage::ApiKeyRow row;
};

// `actor` is for the audit log. kInvalidField: name or tenant is empty, longer than 64 or not of
// [A-Za-z0-9._-], or an allow-list is malformed.
base::Result<MadeKey> create_key(storage::Store& store, std::string_view pepper,
                                 const schemas::KeyRequest& requested, const std::string& actor = "gateway");
base::Result<std::vector<storage::ApiKeyRow>> list_keys(storage::Store& store);
// Creates a replacement for a key. The old key stays valid for `overlap`, so that clients can switch.
// kNotFound: no such id, or it is revoked. kInvalidState: it has been replaced already.
base::Result<MadeKey> rotate_key(storage::Store& store, std::string_view pepper, const std::string& id,
                                 std::chrono::seconds overlap, const std::string& actor = "gateway",
                                 storage::KeyCheck may = {});
// Changes a key. kNotFound: no such id, or it is revoked. kInvalidField: as create_key.
base::Status change_key(storage::Store& store, const std::string& id, const schemas::KeyChange& change,
                        const std::string& actor = "gateway", storage::KeyChangeCheck may = {});
// All processes reject the key within a second. kNotFound: no such id.
base::Status revoke_key(storage::Store& store, const std::string& id, const std::string& actor = "gateway",
                        storage::KeyCheck may = {});

// If the store has no valid key with scope admin, creates one for tenant `default` with every scope and
// writes its text to DATA/admin.key (0600). If an interrupted start has left the file, its key is used. If
// that key was revoked or has expired, the file is replaced.
base::Status ensure_admin_key(storage::Store& store, std::string_view pepper);

// The text of a secret file with mode 0600. If `path` is missing, it is created with the result of `make`.
// The content is complete and synced before the file gets its name. If several processes start at once, one
// of them creates the file and all read the same text. Blocks. Errors contain the path, so they must not be
// sent to clients.
base::Result<std::string> secret_file(const std::string& path, const std::function<std::string()>& make);

// SECRETS/pepper: the key of every HMAC over an API key. It is created at the first start. Without it no
// stored key can be verified.
base::Result<std::string> pepper(const std::string& secrets_dir);

// SECRETS/secret.key: the encryption key for data at rest. 32 bytes, created at the first use.
base::Result<std::string> secret_key(const std::string& secrets_dir);

}  // namespace millrace::api
