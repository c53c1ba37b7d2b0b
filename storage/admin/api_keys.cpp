#include "storage/admin/api_keys.h"

#include <algorithm>
#include <utility>

#include "schemas/json/json_text.h"
#include "storage/admin/audit.h"
#include "storage/sql.h"
#include "storage/sqlite/columns.h"
#include "storage/sqlite/database.h"
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
  return key;
}

std::optional<ApiKeyRow> find_key(Db& db, const std::string& id) {
  auto s = db.prepare(R"(
      SELECT id, mac, name, tenant, scopes, created_at, expires_at, revoked_at, last_used_at, limits
      FROM api_keys
      WHERE id = ?1)"_sql);
  if (!s.bind(id).step()) return std::nullopt;
  return key_of(s);
}

void raise_version(Db& db) { db.prepare("UPDATE access_version SET version = version + 1").run(); }

std::string audit_data(const ApiKeyRow& key) {
  schemas::JsonObject data;
  data.member("name", key.name).member("scopes", joined(key.scopes));
  if (key.expires_at) data.member("expires_at", base::rfc3339(*key.expires_at));
  if (!key.limits.empty()) data.raw("limits", schemas::limits_json(key.limits));
  return data.finish();
}

Moved insert(Tx& tx, const ApiKeyRow& key, const std::string& actor) {
  auto s = tx.db.prepare(R"(
      INSERT INTO api_keys (id, mac, name, tenant, scopes, created_at, expires_at, revoked_at,
          last_used_at, limits)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
      ON CONFLICT (id) DO NOTHING)"_sql);
  const std::string scopes = joined(key.scopes);
  s.bind(key.id, BlobView{digest_bytes(key.mac)}, key.name, key.tenant, scopes, base::millis(key.created_at),
         millis_of(key.expires_at), millis_of(key.revoked_at), millis_of(key.last_used_at),
         schemas::limits_json(key.limits))
      .run();
  if (s.changes() == 0) return base::error(base::Code::kInvalidState, "a key with this id exists");
  raise_version(tx.db);
  append_audit(
      tx,
      {.tenant = key.tenant, .actor = actor, .act = "key.create", .target = key.id, .data = audit_data(key)});
  return true;
}

// A second revocation changes nothing and is no error; the first time is kept.
Moved mark_revoked(Tx& tx, const std::string& id, const std::string& actor) {
  const auto key = find_key(tx.db, id);
  if (!key) return base::error(base::Code::kNotFound, "no key has this id");
  if (key->revoked_at) return true;
  tx.db.prepare("UPDATE api_keys SET revoked_at = ?2 WHERE id = ?1").bind(id, base::millis(tx.now)).run();
  raise_version(tx.db);
  append_audit(tx, {.tenant = key->tenant, .actor = actor, .act = "key.revoke", .target = id});
  return true;
}

std::optional<base::WallTime> earlier(const std::optional<base::WallTime>& a, base::WallTime b) {
  return a ? std::min(*a, b) : b;
}

Moved replace_key(Tx& tx, const std::string& id, ApiKeyRow new_key, base::WallTime ends,
                  const std::string& actor) {
  const auto old = find_key(tx.db, id);
  const bool live = old && !old->revoked_at && (!old->expires_at || *old->expires_at > tx.now);
  if (!live) return base::error(base::Code::kNotFound, "no live key has this id");
  new_key.name = old->name;
  new_key.tenant = old->tenant;
  new_key.scopes = old->scopes;
  new_key.limits = old->limits;
  new_key.expires_at = old->expires_at;
  tx.db.prepare("UPDATE api_keys SET expires_at = ?2 WHERE id = ?1")
      .bind(id, millis_of(earlier(old->expires_at, ends)))
      .run();
  append_audit(tx, {.tenant = old->tenant, .actor = actor, .act = "key.rotate", .target = id});
  return insert(tx, new_key, actor);
}

Moved mark_used(Tx& tx, const std::vector<std::string>& ids) {
  for (const std::string& id : ids) {
    tx.db.prepare("UPDATE api_keys SET last_used_at = ?2 WHERE id = ?1").bind(id, base::millis(tx.now)).run();
  }
  return true;
}

}  // namespace

void ApiKeys::create(ApiKeyRow key, Callback<bool> done, std::string actor) {
  submit_write<bool>(
      store_.writer(), Writer::Priority::kNormal, 0,
      [key = std::move(key), actor = std::move(actor)](Tx& tx) { return insert(tx, key, actor); },
      std::move(done));
}

void ApiKeys::revoke(std::string id, Callback<bool> done, std::string actor) {
  submit_write<bool>(
      store_.writer(), Writer::Priority::kInteractive, 0,
      [id = std::move(id), actor = std::move(actor)](Tx& tx) { return mark_revoked(tx, id, actor); },
      std::move(done));
}

void ApiKeys::rotate(std::string id, ApiKeyRow new_key, base::WallTime ends, Callback<bool> done,
                     std::string actor) {
  submit_write<bool>(
      store_.writer(), Writer::Priority::kInteractive, 0,
      [id = std::move(id), new_key = std::move(new_key), ends, actor = std::move(actor)](Tx& tx) {
        return replace_key(tx, id, new_key, ends, actor);
      },
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
        SELECT id, mac, name, tenant, scopes, created_at, expires_at, revoked_at, last_used_at, limits
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
