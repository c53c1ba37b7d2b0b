#include "api/admission/auth.h"

#include <algorithm>
#include <functional>

#include "api/headers.h"
#include "platform/base/log.h"
#include "schemas/json/json_text.h"
#include "storage/admin/audit.h"
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

// True if a key with the rights `now` may do everything that it might do before.
bool covers(const Principal& now, const Principal& before) {
  return now.scopes.has_all(before.scopes) && schemas::covers(now.access, before.access);
}

bool is_within(const std::optional<std::vector<base::IpRange>>& ranges, std::string_view address) {
  if (!ranges) return true;
  const auto parsed = base::IpAddress::parse(address);
  return parsed && base::contains(*ranges, *parsed);
}

// A range that cannot be parsed contains nothing.
std::optional<std::vector<base::IpRange>> ranges_of(const schemas::AllowList& list) {
  if (!list) return std::nullopt;
  std::vector<base::IpRange> out;
  for (const std::string& each : *list) {
    if (const auto range = base::IpRange::parse(each)) out.push_back(*range);
  }
  return out;
}

// The keys from which others were rotated, by the id of the newer key. Of several, the oldest.
class Rotations {
 public:
  explicit Rotations(const std::vector<storage::ApiKeyRow>& rows) {  // by age
    for (const storage::ApiKeyRow& row : rows) {
      by_id_.emplace(row.id, &row);
      if (!row.rotated_to.empty()) predecessors_.try_emplace(row.rotated_to, row.id);
    }
  }
  std::string first_of(std::string id) const {
    for (auto at = predecessors_.find(id); at != predecessors_.end(); at = predecessors_.find(id))
      id = at->second;
    return id;
  }
  // The key that has replaced `row` in the end, whose limits and budget hold for both; `row` if none has.
  const storage::ApiKeyRow& newest_of(const storage::ApiKeyRow& row) const {
    const auto next = by_id_.find(row.rotated_to);
    return next == by_id_.end() ? row : newest_of(*next->second);
  }

 private:
  std::unordered_map<std::string, const storage::ApiKeyRow*> by_id_;
  std::unordered_map<std::string, std::string> predecessors_;
};

Auth::Decision refused(base::Code why, std::chrono::milliseconds retry_after = {}) {
  return {.principal = {}, .needs_lookup = false, .refusal = why, .retry_after = retry_after};
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

base::Error key_error(base::Code refusal, std::chrono::milliseconds retry_after) {
  const auto message = [refusal] {
    switch (refusal) {
      case base::Code::kUnauthenticated:
        return "No API key was sent: use `Authorization: Bearer KEY` or `X-API-Key: KEY`";
      case base::Code::kOverloaded:
        return "The API key cannot be looked up now; retry";
      case base::Code::kForbidden:
        return "The API key may not be used from this address";
      case base::Code::kRateLimited:
        return "Too many wrong API keys came from this address (limits.failed_keys_per_minute); retry later";
      default:
        return "The API key is unknown, revoked or expired";
    }
  };
  base::Error error = base::error(refusal, message());
  error.retry_after = retry_after;
  return error;
}

base::Error scope_error(const Principal& principal, schemas::Scope missing) {
  std::string message =
      "The API key " + principal.key_id + " lacks the scope '" + std::string(schemas::name(missing)) + "'";
  return base::error(base::Code::kForbidden, std::move(message));
}

Auth::Auth(storage::Store& store, std::string_view pepper, int failed_keys_per_minute)
    : store_(store), rows_(store), pepper_(pepper), failed_(failed_keys_per_minute) {}

std::shared_ptr<const Auth::Table> Auth::table() const {
  const std::lock_guard lock(mutex_);
  return table_;
}

base::Result<PrincipalPtr> Auth::principal_of(const std::string& key_id) {
  for (const bool is_fresh : {false, true}) {
    const auto table = this->table();
    const auto at = table->find(key_id);
    if (at != table->end() && at->second->is_live(store_.clock().wall())) return at->second->principal;
    if (is_fresh) break;
    if (const base::Status loaded = load_changes(); !loaded) return loaded.error();
  }
  return PrincipalPtr();
}

Auth::Decision Auth::check(std::string_view key_text, std::string_view address) {
  if (key_text.empty()) return refused(base::Code::kUnauthenticated);
  const auto id = schemas::key_id(key_text);
  if (!id) return refuse({}, address, {});
  const auto table = this->table();
  const auto at = table->find(std::string(*id));
  if (at != table->end()) return check_entry(*at->second, key_text, address);
  if (!schemas::has_checksum(key_text)) return refuse({}, address, {});
  const auto wait = failed_.retry_after(address, store_.clock().boot());
  if (wait.count() > 0) return refuse({}, address, refused(base::Code::kRateLimited, wait));
  if (!may_query_store()) return refused(base::Code::kOverloaded);
  return {.principal = {}, .needs_lookup = true};
}

Auth::Decision Auth::look_up(std::string_view key_text, std::string_view address) {
  const base::Status loaded = load_changes();
  if (!loaded) return refused(base::Code::kOverloaded);
  const auto id = schemas::key_id(key_text);
  const auto table = this->table();
  const auto at = id ? table->find(std::string(*id)) : table->end();
  if (at != table->end()) return check_entry(*at->second, key_text, address);
  failed_.add(address, store_.clock().boot());
  return refuse({}, address, {});
}

Auth::Decision KeyLookUp::look_up(Auth& auth, std::string_view key_text, std::string_view address) {
  const std::lock_guard lock(mutex_);
  if (refusal_) return *refusal_;
  Auth::Decision decision = auth.look_up(key_text, address);
  const bool may_change = decision.principal || decision.refusal == base::Code::kOverloaded;
  if (!may_change) refusal_ = decision;
  return decision;
}

// The limit of failed attempts applies only to wrong keys, so nobody can lock out a right one.
Auth::Decision Auth::check_entry(const Entry& entry, std::string_view key_text, std::string_view address) {
  const std::string& id = entry.principal->key_id;
  const base::BootTime boot = store_.clock().boot();
  const base::Sha256Digest mac = pepper_.mac(key_text);
  if (!base::equal_constant_time(bytes(mac), bytes(entry.mac))) {
    const auto wait = std::max(failed_.retry_after(address, boot), failed_.retry_after(address, id, boot));
    if (wait.count() > 0) return refuse(id, address, refused(base::Code::kRateLimited, wait));
    failed_.add(address, id, boot);
    return refuse(id, address, {});
  }
  const base::WallTime now = store_.clock().wall();
  if (!entry.is_live(now)) return refuse(id, address, {});
  if (!is_within(entry.ip_ranges, address)) return refuse(id, address, refused(base::Code::kForbidden));
  record_use(entry, base::millis(now));
  return {.principal = entry.principal};
}

// Counts the refusal for the audit log. `key_id`: empty if no key has it.
Auth::Decision Auth::refuse(std::string_view key_id, std::string_view address, Decision decision) {
  refused_keys_.add(key_id, address);
  return decision;
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

base::Status Auth::load_changes() {
  const std::lock_guard loading(load_mutex_);
  const auto version = rows_.version();
  if (!version) return version.error();
  {
    const std::lock_guard lock(mutex_);
    if (*version == version_) return {};
  }
  return load(*version);
}

// The version was read before the keys. A change between the two reads is then detected by the next refresh.
// REQUIRES: `load_mutex_` is held.
base::Status Auth::load(std::int64_t version) {
  const auto rows = rows_.all();
  if (!rows) return rows.error();
  const auto tenants = storage::Tenants(store_).settings();
  if (!tenants) return tenants.error();
  const storage::QuotaDefaults& defaults = store_.options().quota_defaults;
  const auto old = table();
  const base::WallTime now = store_.clock().wall();
  std::vector<std::string> reduced;
  std::unordered_map<std::string, std::shared_ptr<ByteBudget::Share>> bodies;  // by tenant
  for (const auto& [id, entry] : *old) bodies.emplace(entry->principal->tenant, entry->principal->bodies);
  const Rotations rotations(*rows);
  auto new_table = std::make_shared<Table>();
  for (const storage::ApiKeyRow& row : *rows) {
    auto entry = std::make_shared<Entry>();
    auto scopes = schemas::ScopeSet::parse(row.scopes);
    if (!scopes) base::log_warn("key_scope_unknown", {{"key_id", row.id}});
    entry->mac = row.mac;
    auto& tenant_bodies = bodies[row.tenant];
    if (!tenant_bodies) tenant_bodies = std::make_shared<ByteBudget::Share>();
    const auto set = tenants->find(row.tenant);
    const storage::Tenants::Settings own = set == tenants->end() ? storage::Tenants::Settings() : set->second;
    const storage::ApiKeyRow& newest = rotations.newest_of(row);
    entry->principal =
        std::make_shared<Principal>(Principal{.key_id = row.id,
                                              .first_key_id = rotations.first_of(row.id),
                                              .tenant = row.tenant,
                                              .scopes = scopes ? *scopes : schemas::ScopeSet(),
                                              .access = row.access,
                                              .expires_at = row.expires_at,
                                              .key_limits = newest.limits.or_else(defaults.key),
                                              .key_own_limits = newest.limits,
                                              .tenant_limits = own.limits.or_else(defaults.tenant),
                                              .tenant_own_limits = own.limits,
                                              .key_budget = newest.budget,
                                              .tenant_budget = own.budget,
                                              .bodies = tenant_bodies});
    entry->ip_ranges = ranges_of(row.access.ip_ranges);
    entry->expires_at = row.expires_at;
    entry->revoked = row.revoked_at.has_value();
    const auto before = old->find(row.id);
    if (before != old->end()) {
      entry->touched_ms = before->second->touched_ms.load();
      entry->ended = before->second->ended && !entry->is_live(now);
      if (!covers(*entry->principal, *before->second->principal)) reduced.push_back(row.id);
    }
    new_table->emplace(row.id, std::move(entry));
  }
  const std::lock_guard lock(mutex_);
  table_ = std::move(new_table);
  version_ = version;
  reduced_.insert(reduced_.end(), reduced.begin(), reduced.end());
  return {};
}

base::Result<std::vector<std::string>> Auth::refresh() {
  flush_touches();
  flush_refused_keys();
  if (const base::Status loaded = load_changes(); !loaded) return loaded.error();
  return take_ended();
}

std::vector<std::string> Auth::take_ended() {
  std::vector<std::string> ids;
  std::shared_ptr<const Table> table;
  {
    const std::lock_guard lock(mutex_);
    ids.swap(reduced_);
    table = table_;
  }
  const base::WallTime now = store_.clock().wall();
  for (const auto& [id, entry] : *table) {
    if (!entry->is_live(now) && !entry->ended.exchange(true)) ids.push_back(id);
  }
  return ids;
}

void Auth::flush_refused_keys() {
  const auto keys = table();
  for (const RefusedKeys::Count& each : refused_keys_.take_due(store_.clock().boot())) {
    const auto key = keys->find(each.key_id);
    storage::AuditEntry entry{.tenant = key == keys->end() ? std::string() : key->second->principal->tenant,
                              .actor = "gateway",
                              .act = "key.refuse",
                              .target = each.key_id};
    entry.data = schemas::JsonObject().member("address", each.address).number("count", each.count).finish();
    storage::Audit(store_).append(std::move(entry), [](const base::Result<bool>& done) {
      if (!done) base::log_warn("key_refusal_write_failed", {{"error", done.error().message}});
    });
  }
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
