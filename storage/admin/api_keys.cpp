#include "storage/admin/api_keys.h"

#include <algorithm>
#include <utility>

#include "schemas/json/json_body.h"
#include "schemas/json/json_text.h"
#include "storage/admin/audit.h"
#include "storage/db/columns.h"
#include "storage/db/db.h"
#include "storage/sql.h"
#include "storage/tenants/quota_ledger.h"
#include "storage/writer/readers.h"

namespace millrace::storage {
namespace {

using Moved = base::Result<bool>;

std::string joined(const std::vector<std::string>& scopes) {
  std::string text;
  for (const std::string& scope : scopes) text += (text.empty() ? "" : " ") + scope;
  return text;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> scopes;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t to = std::min(text.find(' ', from), text.size());
    scopes.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return scopes;
}

std::optional<std::int64_t> millis_of(const std::optional<base::WallTime>& t) {
  if (!t) return std::nullopt;
  return base::millis(*t);
}

schemas::AllowList list_at(const Statement& row, int column) {
  if (row.is_null(column)) return std::nullopt;
  const auto list = nlohmann::json::parse(row.text(column), nullptr, false);
  return list.is_null() ? schemas::AllowList(std::in_place) : schemas::allow_list_from(list);
}

std::optional<std::string> list_text(const schemas::AllowList& list) {
  if (!list) return std::nullopt;
  return schemas::dump(*list);
}

ApiKeyRow key_of(const Statement& row) {
  ApiKeyRow key;
  key.id = row.text(0);
  const std::string mac = row.blob(1);
  std::copy_n(mac.begin(), std::min(mac.size(), key.mac.size()), key.mac.begin());
  key.name = row.text(2);
  key.tenant = row.text(3);
  key.scopes = split(row.text(4));
  key.created_at = base::wall_from(row.integer(5));
  key.expires_at = optional_time(row.optional_integer(6));
  key.revoked_at = optional_time(row.optional_integer(7));
  key.last_used_at = optional_time(row.optional_integer(8));
  key.limits = schemas::limits_of(row.text(9));
  key.access = {.ip_ranges = list_at(row, 10), .models = list_at(row, 11), .mcp_servers = list_at(row, 12)};
  if (!row.is_null(13)) key.rotated_to = row.text(13);
  if (!row.is_null(14)) key.budget = schemas::budget_of(row.text(14));
  return key;
}

std::optional<std::string> budget_text(const std::optional<schemas::Budget>& budget) {
  if (!budget) return std::nullopt;
  return schemas::budget_json(*budget);
}

// The columns of a key's allow-lists.
struct AccessTexts {
  explicit AccessTexts(const schemas::KeyAccess& access)
      : ip_ranges(list_text(access.ip_ranges)),
        models(list_text(access.models)),
        mcp_servers(list_text(access.mcp_servers)) {}
  std::optional<std::string> ip_ranges, models, mcp_servers;
};

std::optional<ApiKeyRow> find_key(Db& db, const std::string& id) {
  auto s = db.prepare(R"(
      SELECT id, mac, name, tenant, scopes, created_at, expires_at, revoked_at, last_used_at, limits,
          ip_ranges, models, mcp_servers, rotated_to, budget
      FROM api_keys
      WHERE id = ?1)"_sql);
  if (!s.bind(id).step()) return std::nullopt;
  return key_of(s);
}

bool is_administrator(const ApiKeyRow& key) {
  return std::ranges::any_of(key.scopes, [](const std::string& scope) {
    return scope == schemas::name(schemas::Scope::kAdmin) ||
           scope == schemas::name(schemas::Scope::kTenantAdmin);
  });
}

template <class Change>
Moved by_live_key(Tx& tx, const std::string& actor, Change change) {
  if (const base::Status may = check_administrator(tx, actor); !may) return may.error();
  return change();
}

void raise_version(Db& db) { db.prepare("UPDATE access_version SET version = version + 1").run(); }

std::string audit_data(const ApiKeyRow& key) {
  schemas::JsonObject data;
  data.member("name", key.name).member("scopes", joined(key.scopes));
  if (key.expires_at) data.member("expires_at", base::rfc3339(*key.expires_at));
  for (const auto& [field, list] :
       {std::pair("ip_ranges", &key.access.ip_ranges), std::pair("models", &key.access.models),
        std::pair("mcp_servers", &key.access.mcp_servers)}) {
    if (const auto text = list_text(*list)) data.raw(field, *text);
  }
  if (!key.limits.empty()) data.raw("limits", schemas::limits_json(key.limits));
  if (key.budget) data.raw("budget", schemas::budget_json(*key.budget));
  return data.finish();
}

Moved insert(Tx& tx, const ApiKeyRow& key, const std::string& actor) {
  auto s = tx.db.prepare(R"(
      INSERT INTO api_keys (id, mac, name, tenant, scopes, created_at, expires_at, revoked_at,
          last_used_at, limits, ip_ranges, models, mcp_servers, budget)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
      ON CONFLICT (id) DO NOTHING)"_sql);
  const std::string scopes = joined(key.scopes);
  const std::string limits = schemas::limits_json(key.limits);
  const AccessTexts access(key.access);
  const auto budget = budget_text(key.budget);
  s.bind(key.id, BlobView{digest_bytes(key.mac)}, key.name, key.tenant, scopes, base::millis(key.created_at),
         millis_of(key.expires_at), millis_of(key.revoked_at), millis_of(key.last_used_at), limits,
         access.ip_ranges, access.models, access.mcp_servers, budget)
      .run();
  if (s.changes() == 0) return base::error(base::Code::kInvalidState, "a key with this id exists");
  raise_version(tx.db);
  append_audit(
      tx,
      {.tenant = key.tenant, .actor = actor, .act = "key.create", .target = key.id, .data = audit_data(key)});
  return true;
}

// A second revocation changes nothing and is no error; the first time is kept.
Moved mark_revoked(Tx& tx, const std::string& id, const std::string& actor, const KeyCheck& may) {
  const auto key = find_key(tx.db, id);
  if (!key) return no_such_key();
  if (may) {
    if (const base::Status allowed = may(*key); !allowed) return allowed.error();
  }
  if (key->revoked_at) return true;
  tx.db.prepare("UPDATE api_keys SET revoked_at = ?2 WHERE id = ?1").bind(id, base::millis(tx.now)).run();
  raise_version(tx.db);
  append_audit(tx, {.tenant = key->tenant, .actor = actor, .act = "key.revoke", .target = id});
  return true;
}

std::optional<base::WallTime> earlier(const std::optional<base::WallTime>& a, base::WallTime b) {
  return a ? std::min(*a, b) : b;
}

// Of rotations in parallel only one succeeds: otherwise each would leave a live key.
base::Status check_not_rotated(Tx& tx, const ApiKeyRow& key) {
  if (key.rotated_to.empty()) return {};
  const auto successor = find_key(tx.db, key.rotated_to);
  if (!successor || !successor->is_live(tx.now)) return {};
  return base::error(base::Code::kInvalidState,
                     "the key was replaced by " + key.rotated_to + ", which is live: rotate that one");
}

Moved replace_key(Tx& tx, const std::string& id, ApiKeyRow new_key, base::WallTime ends,
                  const std::string& actor, const KeyCheck& may) {
  const auto old = find_key(tx.db, id);
  if (!old || !old->is_live(tx.now)) return no_such_key();
  if (may) {
    if (const base::Status allowed = may(*old); !allowed) return allowed.error();
  }
  if (const base::Status free = check_not_rotated(tx, *old); !free) return free.error();
  new_key.name = old->name;
  new_key.tenant = old->tenant;
  new_key.scopes = old->scopes;
  new_key.access = old->access;
  new_key.limits = old->limits;
  new_key.budget = old->budget;
  new_key.expires_at = old->expires_at;
  const std::string last = newest_key(tx.db, id);  // another one if that key has ended meanwhile
  tx.quotas.move_key(tx.db, last, new_key.id);
  tx.db.prepare("UPDATE api_keys SET rotated_to = ?2 WHERE id IN (?1, ?3)").bind(id, new_key.id, last).run();
  tx.db.prepare("UPDATE api_keys SET expires_at = ?2 WHERE id = ?1")
      .bind(id, millis_of(earlier(old->expires_at, ends)))
      .run();
  append_audit(tx, {.tenant = old->tenant, .actor = actor, .act = "key.rotate", .target = id});
  return insert(tx, new_key, actor);
}

ApiKeyRow changed(ApiKeyRow key, const schemas::KeyChange& change) {
  if (change.name) key.name = *change.name;
  if (change.scopes) key.scopes = change.scopes->names();
  if (change.expires_at) key.expires_at = *change.expires_at;
  if (change.limits) key.limits = *change.limits;
  if (change.budget) key.budget = *change.budget;
  if (change.ip_ranges) key.access.ip_ranges = *change.ip_ranges;
  if (change.models) key.access.models = *change.models;
  if (change.mcp_servers) key.access.mcp_servers = *change.mcp_servers;
  return key;
}

Moved change_key(Tx& tx, const std::string& id, const schemas::KeyChange& change, const std::string& actor,
                 const KeyChangeCheck& may) {
  const auto before = find_key(tx.db, id);
  if (!before || before->revoked_at) return no_such_key();
  const ApiKeyRow after = changed(*before, change);
  if (may) {
    if (const base::Status allowed = may(*before, after); !allowed) return allowed.error();
  }
  const std::string scopes = joined(after.scopes);
  const std::string limits = schemas::limits_json(after.limits);
  const AccessTexts access(after.access);
  const auto budget = budget_text(after.budget);
  tx.db
      .prepare(R"(
          UPDATE api_keys SET name = ?2, scopes = ?3, expires_at = ?4, ip_ranges = ?5, models = ?6,
              mcp_servers = ?7, limits = ?8, budget = ?9
          WHERE id = ?1)"_sql)
      .bind(id, after.name, scopes, millis_of(after.expires_at), access.ip_ranges, access.models,
            access.mcp_servers, limits, budget)
      .run();
  raise_version(tx.db);
  append_audit(
      tx,
      {.tenant = after.tenant, .actor = actor, .act = "key.change", .target = id, .data = audit_data(after)});
  return true;
}

Moved mark_used(Tx& tx, const std::vector<std::string>& ids) {
  for (const std::string& id : ids) {
    tx.db.prepare("UPDATE api_keys SET last_used_at = ?2 WHERE id = ?1").bind(id, base::millis(tx.now)).run();
  }
  return true;
}

}  // namespace

base::Error no_such_key() {
  return base::error(base::Code::kNotFound, "no key has this id, or the key has ended");
}

base::Status check_administrator(Tx& tx, const std::string& actor) {
  const auto key = find_key(tx.db, actor);
  if (!key) return {};
  if (!key->is_live(tx.now))
    return base::error(base::Code::kKeyInvalid, "the API key of this request was revoked or has expired");
  if (!is_administrator(*key))
    return base::error(base::Code::kForbidden, "the API key of this request is no longer an administrator's");
  return {};
}

void ApiKeys::create(ApiKeyRow key, Callback<bool> done, std::string actor) {
  submit_write<bool>(
      store_.writer(), Writer::Priority::kNormal, 0,
      [key = std::move(key), actor = std::move(actor)](Tx& tx) {
        return by_live_key(tx, actor, [&] { return insert(tx, key, actor); });
      },
      std::move(done));
}

void ApiKeys::create_first_admin(ApiKeyRow key, Callback<bool> done) {
  submit_write<bool>(
      store_.writer(), Writer::Priority::kNormal, 0,
      [key = std::move(key)](Tx& tx) -> Moved {
        auto s = tx.db.prepare(R"(
            SELECT 1 FROM api_keys
            WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?1)
                AND ' ' || scopes || ' ' LIKE '% admin %' LIMIT 1)"_sql);
        if (s.bind(base::millis(tx.now)).step())
          return base::error(base::Code::kInvalidState, "there is a key with the scope admin");
        return insert(tx, key, "gateway");
      },
      std::move(done));
}

void ApiKeys::revoke(std::string id, Callback<bool> done, std::string actor, KeyCheck may) {
  submit_write<bool>(
      store_.writer(), Writer::Priority::kInteractive, 0,
      [id = std::move(id), actor = std::move(actor), may = std::move(may)](Tx& tx) {
        return by_live_key(tx, actor, [&] { return mark_revoked(tx, id, actor, may); });
      },
      std::move(done));
}

void ApiKeys::rotate(std::string id, ApiKeyRow new_key, base::WallTime ends, Callback<bool> done,
                     std::string actor, KeyCheck may) {
  submit_write<bool>(
      store_.writer(), Writer::Priority::kInteractive, 0,
      [id = std::move(id), new_key = std::move(new_key), ends, actor = std::move(actor),
       may = std::move(may)](Tx& tx) {
        return by_live_key(tx, actor, [&] { return replace_key(tx, id, new_key, ends, actor, may); });
      },
      std::move(done));
}

void ApiKeys::change(std::string id, schemas::KeyChange change, Callback<bool> done, std::string actor,
                     KeyChangeCheck may) {
  submit_write<bool>(
      store_.writer(), Writer::Priority::kInteractive, 0,
      [id = std::move(id), change = std::move(change), actor = std::move(actor), may = std::move(may)](
          Tx& tx) { return by_live_key(tx, actor, [&] { return change_key(tx, id, change, actor, may); }); },
      std::move(done));
}

void ApiKeys::touch(std::vector<std::string> ids, Callback<bool> done) {
  submit_write<bool>(
      store_.writer(), Writer::Priority::kNormal, 0,
      [ids = std::move(ids)](Tx& tx) { return mark_used(tx, ids); }, std::move(done));
}

base::Result<std::vector<ApiKeyRow>> ApiKeys::all() {
  std::vector<ApiKeyRow> keys;
  auto read = store_.readers().read([&](Db& db) {
    auto s = db.prepare(R"(
        SELECT id, mac, name, tenant, scopes, created_at, expires_at, revoked_at, last_used_at, limits,
            ip_ranges, models, mcp_servers, rotated_to, budget
        FROM api_keys
        ORDER BY created_at, id)"_sql);
    while (s.step()) keys.push_back(key_of(s));
  });
  if (!read) return read.error();
  return keys;
}

base::Result<std::optional<ApiKeyRow>> ApiKeys::find(const std::string& id) {
  return read(store_.readers(), [&](Db& db) { return find_key(db, id); });
}

base::Result<std::int64_t> ApiKeys::version() {
  std::int64_t version = 0;
  auto read = store_.readers().read([&](Db& db) {
    auto s = db.prepare("SELECT version FROM access_version");
    if (s.step()) version = s.integer(0);
  });
  if (!read) return read.error();
  return version;
}

}  // namespace millrace::storage
