#include "api/admission/auth.h"

#include <algorithm>

#include "api/headers.h"
#include "platform/base/log.h"
#include "storage/tenants/tenants.h"

namespace millrace::api {
namespace {

std::string_view bytes(const base::Sha256Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

bool is_bearer(std::string_view value) {
  constexpr std::string_view kName = "bearer";
  const auto same = [](char a, char b) { return (a | 0x20) == b; };
  return value.size() >= kName.size() &&
         std::equal(kName.begin(), kName.end(), value.begin(), [&](char b, char a) { return same(a, b); }) &&
         (value.size() == kName.size() || value[kName.size()] == ' ');
}

}  // namespace

std::string_view credential(const front::Head& head) {
  const std::string_view authorization = trimmed(head.header("authorization").value_or(""));
  if (is_bearer(authorization)) {
    const std::string_view token = trimmed(authorization.substr(std::string_view("bearer").size()));
    if (!token.empty()) return token;
  }
  return trimmed(head.header("x-api-key").value_or(""));
}

base::Error key_error(base::Code refusal) {
  const bool none = refusal == base::Code::kUnauthenticated;
  const bool busy = refusal == base::Code::kOverloaded;
  return base::error(refusal, none
                                  ? "No API key was sent: use `Authorization: Bearer KEY` or `X-API-Key: KEY`"
                              : busy ? "The API key cannot be looked up now; retry"
                                     : "The API key is unknown, revoked or expired");
}

base::Error scope_error(const Principal& principal, schemas::Scope missing) {
  std::string message =
      "The API key " + principal.key_id + " lacks the scope '" + std::string(schemas::name(missing)) + "'";
  return base::error(base::Code::kForbidden, std::move(message));
}

Auth::Auth(storage::Store& store, std::string_view pepper) : store_(store), rows_(store), pepper_(pepper) {}

std::shared_ptr<const Auth::Table> Auth::table() const {
  const std::lock_guard lock(mutex_);
  return table_;
}

Auth::Decision Auth::check(std::string_view key_text) {
  if (key_text.empty())
    return {.principal = {}, .needs_lookup = false, .refusal = base::Code::kUnauthenticated};
  const auto id = schemas::key_id(key_text);
  if (!id) return {};
  const auto table = this->table();
  const auto at = table->find(std::string(*id));
  if (at != table->end()) return check_entry(*at->second, key_text);
  return {.principal = {}, .needs_lookup = may_query_store(), .refusal = base::Code::kKeyInvalid};
}

Auth::Decision Auth::look_up(std::string_view key_text) {
  const base::Status loaded = load();
  if (!loaded) return {.principal = {}, .needs_lookup = false, .refusal = base::Code::kOverloaded};
  const auto id = schemas::key_id(key_text);
  const auto table = this->table();
  const auto at = id ? table->find(std::string(*id)) : table->end();
  return at == table->end() ? Decision{} : check_entry(*at->second, key_text);
}

Auth::Decision Auth::check_entry(const Entry& entry, std::string_view key_text) {
  const base::Sha256Digest mac = pepper_.mac(key_text);
  if (!base::equal_constant_time(bytes(mac), bytes(entry.mac))) return {};
  const base::WallTime now = store_.clock().wall();
  if (entry.revoked || (entry.expires_at && *entry.expires_at <= now)) return {};
  record_use(entry, base::millis(now));
  return {.principal = entry.principal, .needs_lookup = false, .refusal = base::Code::kKeyInvalid};
}

void Auth::record_use(const Entry& entry, std::int64_t now_ms) {
  std::int64_t last = entry.touched_ms.load(std::memory_order_relaxed);
  const std::int64_t every_ms = std::chrono::milliseconds(kTouchInterval).count();
  if (now_ms - last < every_ms || !entry.touched_ms.compare_exchange_strong(last, now_ms)) return;
  const std::lock_guard lock(mutex_);
  to_touch_.push_back(entry.principal->key_id);
}

bool Auth::may_query_store() {
  const std::int64_t second = base::millis(store_.clock().boot()) / 1000;
  const std::lock_guard lock(mutex_);
  if (second != lookup_second_) {
    lookup_second_ = second;
    lookups_ = 0;
  }
  return ++lookups_ <= kStoreLookupsPerSecond;
}

base::Status Auth::load() {
  // The version is read first. A change between the two reads is then detected by the next refresh.
  const auto version = rows_.version();
  if (!version) return version.error();
  const auto rows = rows_.all();
  if (!rows) return rows.error();
  const auto tenants = storage::Tenants(store_).limits();
  if (!tenants) return tenants.error();
  const storage::QuotaDefaults& defaults = store_.options().quota_defaults;
  const auto old = table();
  std::unordered_map<std::string, std::shared_ptr<ByteBudget::Share>> bodies;  // by tenant
  for (const auto& [id, entry] : *old) bodies.emplace(entry->principal->tenant, entry->principal->bodies);
  auto new_table = std::make_shared<Table>();
  for (const storage::ApiKeyRow& row : *rows) {
    auto entry = std::make_shared<Entry>();
    auto scopes = schemas::ScopeSet::parse(row.scopes);
    if (!scopes) base::log_warn("key_scope_unknown", {{"key_id", row.id}});
    entry->mac = row.mac;
    auto& tenant_bodies = bodies[row.tenant];
    if (!tenant_bodies) tenant_bodies = std::make_shared<ByteBudget::Share>();
    const auto limits = tenants->find(row.tenant);
    const schemas::Limits own = limits == tenants->end() ? schemas::Limits() : limits->second;
    entry->principal = std::make_shared<Principal>(Principal{.key_id = row.id,
                                                             .tenant = row.tenant,
                                                             .scopes = scopes ? *scopes : schemas::ScopeSet(),
                                                             .key_limits = row.limits.or_else(defaults.key),
                                                             .tenant_limits = own.or_else(defaults.tenant),
                                                             .tenant_own_limits = own,
                                                             .bodies = tenant_bodies});
    entry->expires_at = row.expires_at;
    entry->revoked = row.revoked_at.has_value();
    const auto before = old->find(row.id);
    if (before != old->end()) entry->touched_ms = before->second->touched_ms.load();
    new_table->emplace(row.id, std::move(entry));
  }
  const std::lock_guard lock(mutex_);
  table_ = std::move(new_table);
  version_ = *version;
  return {};
}

base::Status Auth::refresh() {
  flush_touches();
  const auto version = rows_.version();
  if (!version) return version.error();
  {
    const std::lock_guard lock(mutex_);
    if (*version == version_) return {};
  }
  return load();
}

void Auth::flush_touches() {
  std::vector<std::string> ids;
  {
    const std::lock_guard lock(mutex_);
    ids.swap(to_touch_);
  }
  if (ids.empty()) return;
  rows_.touch(std::move(ids), [](const base::Result<bool>& done) {
    if (!done) base::log_warn("key_last_used_write_failed", {{"error", done.error().message}});
  });
}

}  // namespace millrace::api
