#include "api/admission/keys.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <optional>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/base/base64.h"
#include "platform/base/crypto.h"
#include "platform/base/fd.h"
#include "platform/base/ids.h"
#include "platform/base/log.h"
#include "storage/admin/secret_checks.h"

namespace millrace::api {
namespace {

constexpr std::size_t kNameMax = 64;

base::Status check_name(const char* field, std::string_view name) {
  if (is_valid_name(name)) return {};
  return base::error(base::Code::kInvalidField,
                     std::string(field) + " must be 1 to 64 characters of A-Z a-z 0-9 . _ -", field);
}

// Starts a storage operation and waits for its commit.
template <class Start>
base::Result<bool> committed(Start start) {
  auto promise = std::make_shared<std::promise<base::Result<bool>>>();
  auto future = promise->get_future();
  start([promise](base::Result<bool> result) { promise->set_value(std::move(result)); });
  return future.get();
}

MadeKey made_key(const storage::Store& store, std::string_view pepper, std::string text,
                 const schemas::KeyRequest& requested) {
  MadeKey made{.text = std::move(text), .row = {}};
  made.row.id = std::string(*schemas::key_id(made.text));
  made.row.mac = key_mac(pepper, made.text);
  made.row.name = requested.name;
  made.row.tenant = requested.tenant;
  made.row.scopes = requested.scopes.names();
  made.row.created_at = store.clock().wall();
  made.row.expires_at = requested.expires_at;
  made.row.access = requested.access;
  made.row.limits = requested.limits;
  made.row.budget = requested.budget;
  return made;
}

base::Result<MadeKey> insert(storage::Store& store, MadeKey made, const std::string& actor) {
  storage::ApiKeys rows(store);
  const auto done =
      committed([&](storage::Callback<bool> then) { rows.create(made.row, std::move(then), actor); });
  if (!done) return done.error();
  return made;
}

bool is_admin(const storage::ApiKeyRow& key) {
  const std::string_view admin = schemas::name(schemas::Scope::kAdmin);
  return std::find(key.scopes.begin(), key.scopes.end(), admin) != key.scopes.end();
}

// The row of a key; null: the store has no such key.
const storage::ApiKeyRow* find(const std::vector<storage::ApiKeyRow>& keys, std::string_view text) {
  const auto id = schemas::key_id(text);
  const auto found =
      std::find_if(keys.begin(), keys.end(), [&](const storage::ApiKeyRow& key) { return key.id == id; });
  return found == keys.end() ? nullptr : &*found;
}

// The key in the file, which is created if it is missing.
base::Result<std::string> admin_key_text(const std::string& path) {
  auto text = secret_file(path, [] { return schemas::make_key_text(); });
  if (text && !schemas::key_id(*text)) {
    return base::error(base::Code::kInternal,
                       path + " contains no API key; remove it, and the next start creates one");
  }
  return text;
}

}  // namespace

bool is_valid_name(std::string_view name) {
  constexpr std::string_view kAllowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  return !name.empty() && name.size() <= kNameMax &&
         name.find_first_not_of(kAllowed) == std::string_view::npos;
}

base::Sha256Digest key_mac(std::string_view pepper, std::string_view key_text) {
  return base::hmac_sha256(pepper, key_text);
}

namespace {

constexpr const char* kPepperFile = "pepper";
constexpr const char* kSecretKeyFile = "secret.key";
constexpr const char* kUserCaFile = "ca/user_ca";
constexpr const char* kHostCaFile = "ca/host_ca";
constexpr const char* kAcceptAdvice =
    "restore it from a backup (docs/operations.md, The data directory), or give up what depends on it: run "
    "`millrace keys accept-secrets`, then create new keys (`millrace keys create`)";

// Says nothing about the secret.
std::string check_value(std::string_view secret, std::string_view name) {
  return base::hex(base::hmac_sha256(secret, "millrace check of " + std::string(name)));
}

base::Error other_secret(const std::string& path) {
  return base::error(base::Code::kInternal,
                     path + " is not the file that this store has been used with; " + kAcceptAdvice);
}

// The store was used before it had checks: whether the key of DATA/admin.key was made with another pepper.
bool admin_key_differs(const std::vector<storage::ApiKeyRow>& keys, const std::string& data_dir,
                       std::string_view pepper) {
  std::ifstream file(data_dir + "/admin.key");
  std::string text;
  file >> text;
  const storage::ApiKeyRow* row = find(keys, text);
  return row != nullptr && row->mac != key_mac(pepper, text);
}

// Whether it is the secret that the store was used with; the first one counts.
base::Result<bool> is_known_secret(storage::Store& store, const char* name, std::string_view secret) {
  storage::SecretChecks checks(store);
  const std::string value = check_value(secret, name);
  auto known = checks.find(name);
  if (known && !*known) {
    if (auto added = checks.add(name, value); !added) return added.error();
    known = checks.find(name);
  }
  if (!known) return known.error();
  return *known == value;
}

base::Status check_secret(storage::Store& store, const char* name, std::string_view secret) {
  const auto same = is_known_secret(store, name, secret);
  if (!same) return same.error();
  return *same ? base::Status() : other_secret(store.secrets_dir() + "/" + name);
}

base::Error other_authority(const std::string& what) {
  return base::error(base::Code::kInternal,
                     what +
                         "; copy the folder ca of secrets.dir from a host that runs. To replace the "
                         "authorities on all hosts, run `millrace keys accept-secrets` and copy the folder");
}

base::Error missing_pepper(const std::string& path) {
  return base::error(
      base::Code::kInternal,
      path + " is missing, so no key of this store can be verified; restore it from a backup " +
          "(docs/operations.md, The data directory), or write a new one (`openssl rand -hex 32 >" + path +
          "`), run `millrace keys accept-secrets` and create new keys (`millrace keys create`)");
}

base::Error missing_secret_key(const std::string& path) {
  return base::error(
      base::Code::kInternal,
      path + " is missing, so nothing that this store has encrypted can be read; " + kAcceptAdvice);
}

bool is_missing_file(const std::string& path) {
  std::error_code unreadable;
  return !std::filesystem::exists(path, unreadable) && !unreadable;
}

}  // namespace

base::Status accept_secrets(storage::Store& store, const std::string& actor) {
  const std::string& folder = store.secrets_dir();
  storage::SecretChecks checks(store);
  const auto own_pepper = pepper(folder);
  if (!own_pepper) return own_pepper.error();
  const auto own_key = secret_key(folder);
  if (!own_key) return own_key.error();
  if (auto done = checks.replace(kPepperFile, check_value(*own_pepper, kPepperFile), actor); !done)
    return done;
  if (auto done = checks.replace(kSecretKeyFile, check_value(*own_key, kSecretKeyFile), actor); !done)
    return done;
  const auto authority = machines::SshAuthority::open(folder);
  if (!authority) return authority.error();
  if (auto done = checks.replace(kUserCaFile, check_value((*authority)->user_ca(), kUserCaFile), actor);
      !done)
    return done;
  return checks.replace(kHostCaFile, check_value((*authority)->host_ca(), kHostCaFile), actor);
}

base::Result<std::shared_ptr<const machines::SshAuthority>> authority_of(storage::Store& store) {
  const std::string& folder = store.secrets_dir();
  const bool is_shared = !store.options().host.empty();
  storage::SecretChecks checks(store);
  for (const char* name : {kUserCaFile, kHostCaFile}) {
    const std::string path = folder + "/" + name;
    if (!is_shared || !is_missing_file(path)) continue;
    const auto known = checks.find(name);
    if (!known) return known.error();
    if (*known) return other_authority(path + " is missing");
  }
  auto authority = machines::SshAuthority::open(folder, store.options().data_dir);
  if (!authority || !is_shared) return authority;
  for (const auto& [name, key] :
       {std::pair{kUserCaFile, (*authority)->user_ca()}, std::pair{kHostCaFile, (*authority)->host_ca()}}) {
    const auto same = is_known_secret(store, name, key);
    if (!same) return same.error();
    if (!*same)
      return other_authority(folder + "/" + name + " is not the file that this store has been used with");
  }
  return authority;
}

base::Result<std::string> secret_key_of(storage::Store& store) {
  const std::string& folder = store.secrets_dir();
  const auto known = storage::SecretChecks(store).find(kSecretKeyFile);
  if (!known) return known.error();
  const std::string path = folder + "/" + kSecretKeyFile;
  if (*known && is_missing_file(path)) {
    return missing_secret_key(path);
  }
  auto key = secret_key(folder);
  if (!key) return key;
  if (auto checked = check_secret(store, kSecretKeyFile, *key); !checked) return checked.error();
  return key;
}

// Reads the keys first, because another process may be creating the pepper and a key with it at this moment.
base::Result<std::string> pepper_of(storage::Store& store) {
  const std::string& folder = store.secrets_dir();
  const auto keys = list_keys(store);
  if (!keys) return keys.error();
  const std::string path = folder + "/pepper";
  if (keys->empty() || !is_missing_file(path)) {
    auto own = pepper(folder);
    if (!own) return own;
    const auto known = storage::SecretChecks(store).find(kPepperFile);
    if (!known) return known.error();
    if (!*known && admin_key_differs(*keys, store.options().data_dir, *own)) return other_secret(path);
    if (auto checked = check_secret(store, kPepperFile, *own); !checked) return checked.error();
    return own;
  }
  return missing_pepper(path);
}

std::vector<std::string> secret_file_problems(const std::string& secrets_dir,
                                              const std::map<std::string, std::string>& checks,
                                              bool has_keys) {
  struct File {
    const char* name;
    bool is_used;
    base::Error (*missing)(const std::string& path);
    base::Result<std::string> (*read)(const std::string& secrets_dir);
  };
  std::vector<std::string> problems;
  for (const File& file : {File{kPepperFile, has_keys, missing_pepper, pepper},
                           File{kSecretKeyFile, false, missing_secret_key, secret_key}}) {
    const std::string path = secrets_dir + "/" + file.name;
    const auto check = checks.find(file.name);
    if (is_missing_file(path)) {
      if (file.is_used || check != checks.end()) problems.push_back(file.missing(path).message);
      continue;
    }
    const auto secret = file.read(secrets_dir);
    if (!secret) {
      problems.push_back(secret.error().message);
    } else if (check != checks.end() && check->second != check_value(*secret, file.name)) {
      problems.push_back(other_secret(path).message);
    }
  }
  return problems;
}

base::Result<MadeKey> create_key(storage::Store& store, std::string_view pepper,
                                 const schemas::KeyRequest& requested, const std::string& actor) {
  if (const base::Status good = check_name("name", requested.name); !good) return good.error();
  if (const base::Status good = check_name("tenant", requested.tenant); !good) return good.error();
  if (const base::Status good = schemas::check_access(requested.access); !good) return good.error();
  return insert(store, made_key(store, pepper, schemas::make_key_text(), requested), actor);
}

base::Result<std::vector<storage::ApiKeyRow>> list_keys(storage::Store& store) {
  return storage::ApiKeys(store).all();
}

base::Result<MadeKey> rotate_key(storage::Store& store, std::string_view pepper, const std::string& id,
                                 std::chrono::seconds overlap, const std::string& actor,
                                 storage::KeyCheck may) {
  MadeKey made{.text = schemas::make_key_text(), .row = {}};
  made.row.id = std::string(*schemas::key_id(made.text));
  made.row.mac = key_mac(pepper, made.text);
  made.row.created_at = store.clock().wall();
  storage::ApiKeys rows(store);
  const auto done = committed([&](storage::Callback<bool> then) {
    rows.rotate(id, made.row, made.row.created_at + overlap, std::move(then), actor, std::move(may));
  });
  if (!done) return done.error();
  const auto stored = rows.find(made.row.id);
  if (!stored) return stored.error();
  if (*stored) made.row = **stored;
  return made;
}

base::Status change_key(storage::Store& store, const std::string& id, const schemas::KeyChange& change,
                        const std::string& actor, storage::KeyChangeCheck may) {
  if (change.name) {
    if (base::Status good = check_name("name", *change.name); !good) return good;
  }
  const schemas::KeyAccess lists{.ip_ranges = change.ip_ranges.value_or(std::nullopt),
                                 .models = change.models.value_or(std::nullopt),
                                 .mcp_servers = change.mcp_servers.value_or(std::nullopt)};
  if (base::Status good = schemas::check_access(lists); !good) return good;
  storage::ApiKeys rows(store);
  const auto done = committed(
      [&](storage::Callback<bool> then) { rows.change(id, change, std::move(then), actor, std::move(may)); });
  if (!done) return done.error();
  return {};
}

base::Status revoke_key(storage::Store& store, const std::string& id, const std::string& actor,
                        storage::KeyCheck may) {
  storage::ApiKeys rows(store);
  const auto done = committed(
      [&](storage::Callback<bool> then) { rows.revoke(id, std::move(then), actor, std::move(may)); });
  if (!done) return done.error();
  return {};
}

base::Status ensure_admin_key(storage::Store& store, std::string_view pepper) {
  const auto keys = list_keys(store);
  if (!keys) return keys.error();
  const base::WallTime now = store.clock().wall();
  const auto admin = [now](const storage::ApiKeyRow& key) { return key.is_live(now) && is_admin(key); };
  if (std::any_of(keys->begin(), keys->end(), admin)) return {};
  const std::string path = store.options().data_dir + "/admin.key";
  auto text = admin_key_text(path);
  if (!text) return text.error();
  if (const storage::ApiKeyRow* known = find(*keys, *text)) {
    if (known->is_live(now)) {
      base::log_warn("admin_key_missing",
                     {{"reason", "admin.key contains a valid key without the scope admin"}});
      return {};
    }
    ::unlink(path.c_str());  // the key is revoked or expired
    text = admin_key_text(path);
    if (!text) return text.error();
  }
  const MadeKey made =
      made_key(store, pepper, *text,
               {.name = "admin", .tenant = "default", .scopes = schemas::ScopeSet::all(), .expires_at = {}});
  storage::ApiKeys rows(store);
  const auto done =
      committed([&](storage::Callback<bool> then) { rows.create_first_admin(made.row, std::move(then)); });
  if (done) return {};
  if (done.error().code != base::Code::kInvalidState) return done.error();
  // Another process was first. If it has another data directory, its key is another one.
  const auto known = rows.find(made.row.id);
  if (!known) return known.error();
  if (!*known) ::unlink(path.c_str());
  return {};
}

namespace {

constexpr std::size_t kSecretFileMax = 4096;
constexpr std::size_t kPepperBytes = 32;
constexpr std::size_t kSecretKeyBytes = 32;

base::Error failed(const std::string& path, std::string_view act) {
  return base::error(base::Code::kInternal,
                     path + ": cannot " + std::string(act) + ": " + std::strerror(errno));
}

std::string without_line_end(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
  return text;
}

// nullopt: the file does not exist.
base::Result<std::optional<std::string>> read_secret(const std::string& path) {
  const base::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) return std::optional<std::string>();
  if (!file) return failed(path, "open");
  struct stat about {};
  if (::fstat(file.get(), &about) == 0 && (about.st_mode & 077) != 0) {
    base::log_warn("secret_file_readable_by_others", {{"path", path}, {"fix", "chmod 600"}});
  }
  std::string text(kSecretFileMax, '\0');
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  if (got < 0) return failed(path, "read");
  text.resize(static_cast<std::size_t>(got));
  return std::optional(without_line_end(std::move(text)));
}

base::Status write_whole(const std::string& path, const std::string& text) {
  const base::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return failed(path, "create");
  if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return failed(path, "write");
  if (::fsync(file.get()) != 0) return failed(path, "sync");
  return {};
}

base::Status sync_folder(const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  const base::Fd fd(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) return failed(folder, "sync");
  return {};
}

// Creates the file `path` with `text`, unless another process has created it first.
base::Status publish(const std::string& path, const std::string& text) {
  const std::string temporary = path + "." + base::hex(base::random_bytes(8));
  base::Status written = write_whole(temporary, text + "\n");
  if (written && ::link(temporary.c_str(), path.c_str()) != 0 && errno != EEXIST)
    written = failed(path, "link");
  ::unlink(temporary.c_str());
  if (!written) return written;
  return sync_folder(path);
}

}  // namespace

base::Result<std::string> secret_file(const std::string& path, const std::function<std::string()>& make) {
  auto text = read_secret(path);
  if (!text) return text.error();
  if (!*text) {
    if (auto published = publish(path, make()); !published) return published.error();
    text = read_secret(path);
    if (!text) return text.error();
  }
  if (!*text || (*text)->empty()) {
    return base::error(base::Code::kInternal,
                       path + " is empty; restore it from a backup, or remove it to create a new one");
  }
  return std::move(**text);
}

base::Result<std::string> pepper(const std::string& secrets_dir) {
  const std::string path = secrets_dir + "/pepper";
  auto text = secret_file(path, [] { return base::hex(base::random_bytes(kPepperBytes)); });
  if (text && text->size() < kPepperBytes) {
    return base::error(base::Code::kInternal, path + " is too short for a pepper; restore it from a backup");
  }
  return text;
}

base::Result<std::string> secret_key(const std::string& secrets_dir) {
  const std::string path = secrets_dir + "/secret.key";
  auto text = secret_file(path, [] { return base::base64_encode(base::random_bytes(kSecretKeyBytes)); });
  if (!text) return text;
  const std::string key = base::base64_decode(*text).value_or("");
  if (key.size() != kSecretKeyBytes) {
    return base::error(base::Code::kInternal,
                       path + " does not contain a key of 32 bytes; restore it from a backup");
  }
  return key;
}

}  // namespace millrace::api
