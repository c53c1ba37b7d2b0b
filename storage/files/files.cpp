#include "storage/files/files.h"

#include <memory>
#include <utility>

#include "schemas/json/json_text.h"
#include "storage/admin/audit.h"
#include "storage/blobs/blob_rows.h"
#include "storage/db/columns.h"
#include "storage/db/db.h"
#include "storage/jobs/idempotency.h"
#include "storage/jobs/maintenance_steps.h"
#include "storage/sql.h"
#include "storage/tenants/quota_ledger.h"
#include "storage/writer/readers.h"

namespace millrace::storage {
namespace {

using schemas::StoredFile;

constexpr std::size_t kStoredFileRowBytes = 512;

struct FoundFile {
  StoredFile file;
  std::int64_t blob = 0;
  std::string key_id;
};

FoundFile file_at(const Statement& s) {
  FoundFile found;
  StoredFile& file = found.file;
  file.id = s.uuid(0);
  file.purpose = s.text(1);
  file.name = s.text(2);
  file.created_at = base::wall_from(s.integer(3));
  file.expires_at = optional_time(s.optional_integer(4));
  found.blob = s.integer(5);
  found.key_id = s.optional_text(6).value_or("");
  file.bytes = s.integer(7);
  file.sha256_hex = base::hex(s.blob(8));
  return found;
}

std::optional<FoundFile> find_file(Db& db, const std::string& tenant, const base::Uuid& id,
                                   base::WallTime now) {
  auto s = db.prepare(R"(
      SELECT f.id, f.purpose, f.name, f.created_at, f.expires_at, f.blob, f.key_id, b.bytes, b.sha256
      FROM files AS f JOIN blobs AS b ON b.id = f.blob
      WHERE f.id = ?1 AND f.tenant = ?2 AND (f.expires_at IS NULL OR f.expires_at > ?3))"_sql);
  if (!s.bind(id, tenant, base::millis(now)).step()) return std::nullopt;
  return file_at(s);
}

struct FileIntake {
  NewFile file;
  IdempotentCall call;
  ReplyBuilder<StoredFile> reply;
};

base::Result<CallReply> add_file(Tx& tx, const FileIntake& intake, BlobClaim& blob_claim) {
  const IdempotentCall& call = intake.call;
  if (const auto before = find_stored_reply(tx, call)) return *before;
  StoredFile file = intake.file.about;
  file.bytes = intake.file.content->ref().bytes;
  file.sha256_hex = intake.file.content->ref().sha256_hex;
  const Owner owner{call.tenant, call.actor};
  if (auto refused = tx.quotas.refusal(tx.db, owner, {.stored_bytes = file.bytes})) return *refused;
  const std::int64_t blob = blob_claim.take(tx.db, call.tenant, intake.file.content);
  insert_file(tx, owner, file, blob);
  return store_reply(tx, call, intake.reply(file));
}

void drop_file(Tx& tx, const std::string& tenant, const FoundFile& found) {
  drop_ref(tx.db, found.blob);
  tx.quotas.add(tx.db, {tenant, found.key_id}, {.stored_bytes = -found.file.bytes});
}

base::Result<CallReply> remove_file(Tx& tx, const base::Uuid& id, const IdempotentCall& call,
                                    const ReplyBuilder<StoredFile>& reply) {
  if (const auto before = find_stored_reply(tx, call)) return *before;
  const auto found = find_file(tx.db, call.tenant, id, tx.now);
  if (!found) return no_such_file();
  tx.db.prepare("DELETE FROM files WHERE id = ?1").bind(id).run();
  drop_file(tx, call.tenant, *found);
  append_audit(tx, {.tenant = call.tenant,
                    .actor = call.actor,
                    .act = "file.delete",
                    .target = schemas::stored_file_id(id),
                    .data = schemas::JsonObject().member("sha256", found->file.sha256_hex).finish()});
  return store_reply(tx, call, reply(found->file));
}

int drop_expired_files(Tx& tx, int limit) {
  std::vector<std::pair<std::string, FoundFile>> gone;
  {
    auto s = tx.db.prepare(R"(
        SELECT f.id, f.purpose, f.name, f.created_at, f.expires_at, f.blob, f.key_id, b.bytes, b.sha256, f.tenant
        FROM files AS f JOIN blobs AS b ON b.id = f.blob
        WHERE f.expires_at <= ?1 ORDER BY f.expires_at LIMIT ?2)"_sql);
    s.bind(base::millis(tx.now), limit);
    while (s.step()) gone.emplace_back(s.text(9), file_at(s));
  }
  for (const auto& [tenant, found] : gone) {
    tx.db.prepare("DELETE FROM files WHERE id = ?1").bind(found.file.id).run();
    drop_file(tx, tenant, found);
  }
  return static_cast<int>(gone.size());
}

// Each order and each filter has a text of its own, so that each uses its index.
Sql listing(const FileListQuery& query) {
  static constexpr Sql kNewest = R"(
      SELECT f.id, f.purpose, f.name, f.created_at, f.expires_at, f.blob, f.key_id, b.bytes, b.sha256
      FROM files AS f JOIN blobs AS b ON b.id = f.blob
      WHERE f.tenant = ?1 AND f.id < ?2 AND (f.expires_at IS NULL OR f.expires_at > ?3)
      ORDER BY f.id DESC LIMIT ?4 OFFSET ?5)"_sql;
  static constexpr Sql kOldest = R"(
      SELECT f.id, f.purpose, f.name, f.created_at, f.expires_at, f.blob, f.key_id, b.bytes, b.sha256
      FROM files AS f JOIN blobs AS b ON b.id = f.blob
      WHERE f.tenant = ?1 AND f.id > ?2 AND (f.expires_at IS NULL OR f.expires_at > ?3)
      ORDER BY f.id LIMIT ?4 OFFSET ?5)"_sql;
  static constexpr Sql kNewestOfPurpose = R"(
      SELECT f.id, f.purpose, f.name, f.created_at, f.expires_at, f.blob, f.key_id, b.bytes, b.sha256
      FROM files AS f JOIN blobs AS b ON b.id = f.blob
      WHERE f.tenant = ?1 AND f.purpose = ?6 AND f.id < ?2 AND (f.expires_at IS NULL OR f.expires_at > ?3)
      ORDER BY f.id DESC LIMIT ?4 OFFSET ?5)"_sql;
  static constexpr Sql kOldestOfPurpose = R"(
      SELECT f.id, f.purpose, f.name, f.created_at, f.expires_at, f.blob, f.key_id, b.bytes, b.sha256
      FROM files AS f JOIN blobs AS b ON b.id = f.blob
      WHERE f.tenant = ?1 AND f.purpose = ?6 AND f.id > ?2 AND (f.expires_at IS NULL OR f.expires_at > ?3)
      ORDER BY f.id LIMIT ?4 OFFSET ?5)"_sql;
  if (query.purpose.empty()) return query.is_oldest_first ? kOldest : kNewest;
  return query.is_oldest_first ? kOldestOfPurpose : kNewestOfPurpose;
}

}  // namespace

base::Error no_such_file() {
  return base::error(base::Code::kNotFound, "There is no such file, or it has expired");
}

void insert_file(Tx& tx, const Owner& owner, const StoredFile& file, std::int64_t blob) {
  std::optional<std::int64_t> expires_at;
  if (file.expires_at) expires_at = base::millis(*file.expires_at);
  const auto key_id = null_if_empty(owner.key_id);
  tx.db
      .prepare(R"(
      INSERT INTO files (id, tenant, key_id, purpose, name, blob, created_at, expires_at)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8))"_sql)
      .bind(file.id, owner.tenant, key_id, file.purpose, file.name, blob, base::millis(file.created_at),
            expires_at)
      .run();
  tx.quotas.add(tx.db, owner, {.stored_bytes = file.bytes});
}

void Files::add(NewFile file, IdempotentCall call, ReplyBuilder<StoredFile> reply, Callback<CallReply> done) {
  auto blob_claim = std::make_shared<BlobClaim>();
  FileIntake intake{std::move(file), std::move(call), std::move(reply)};
  submit_write<CallReply>(
      store_.writer(), Writer::Priority::kInteractive, kStoredFileRowBytes,
      [intake = std::move(intake), blob_claim](Tx& tx) {
        blob_claim->begin();
        return add_file(tx, intake, *blob_claim);
      },
      with_claim_commit<CallReply>(blob_claim, std::move(done)));
}

base::Result<StoredFile> Files::file(const std::string& tenant, const base::Uuid& id) {
  auto found =
      read(store_.readers(), [&](Db& db) { return find_file(db, tenant, id, store_.clock().wall()); });
  if (!found) return found.error();
  if (!*found) return no_such_file();
  return std::move((*found)->file);
}

base::Result<std::vector<StoredFile>> Files::list(const std::string& tenant, const FileListQuery& query) {
  return read(store_.readers(), [&](Db& db) {
    std::vector<StoredFile> files;
    const base::Uuid after = query.after.value_or(query.is_oldest_first ? base::Uuid() : max_id());
    auto s = db.prepare(listing(query));
    s.bind(tenant, after, base::millis(store_.clock().wall()), query.limit, query.skip);
    if (!query.purpose.empty()) s.bind(query.purpose);
    while (s.step()) files.push_back(file_at(s).file);
    return files;
  });
}

base::Result<std::int64_t> Files::count(const std::string& tenant, const std::string& purpose,
                                        std::int64_t most) {
  return read(store_.readers(), [&](Db& db) {
    auto s = purpose.empty() ? db.prepare(R"(
        SELECT count(*) FROM (SELECT 1 FROM files
            WHERE tenant = ?1 AND (expires_at IS NULL OR expires_at > ?3) LIMIT ?2) AS counted)"_sql)
                             : db.prepare(R"(
        SELECT count(*) FROM (SELECT 1 FROM files
            WHERE tenant = ?1 AND purpose = ?4 AND (expires_at IS NULL OR expires_at > ?3) LIMIT ?2) AS counted)"_sql);
    s.bind(tenant, most, base::millis(store_.clock().wall()));
    if (!purpose.empty()) s.bind(purpose);
    s.step();
    return s.integer(0);
  });
}

base::Result<std::string> Files::owner(const base::Uuid& id) {
  const auto tenant = read(store_.readers(), [&](Db& db) {
    auto s = db.prepare("SELECT tenant FROM files WHERE id = ?1");
    return s.bind(id).step() ? std::optional(s.text(0)) : std::nullopt;
  });
  if (!tenant) return tenant.error();
  if (!*tenant) return no_such_file();
  return **tenant;
}

base::Result<std::string> Files::read_content(const std::string& tenant, const base::Uuid& id) {
  const auto blob = blob_of(tenant, id);
  return blob ? store_.blobs().read(*blob) : blob.error();
}

base::Result<BlobRef> Files::blob_of(const std::string& tenant, const base::Uuid& id) {
  const auto blob = read(store_.readers(), [&](Db& db) -> base::Result<BlobRef> {
    const auto row = blob_of_file(db, tenant, id, store_.clock().wall());
    if (!row) return no_such_file();
    return referenced_blob(db, *row, schemas::stored_file_id(id));
  });
  return blob ? *blob : blob.error();
}

base::Result<OpenFile> Files::open(const std::string& tenant, const base::Uuid& id) {
  const auto blob = blob_of(tenant, id);
  if (!blob) return blob.error();
  return store_.blobs().open(*blob);
}

void Files::remove(base::Uuid id, IdempotentCall call, ReplyBuilder<StoredFile> reply,
                   Callback<CallReply> done) {
  submit_write<CallReply>(
      store_.writer(), Writer::Priority::kInteractive, kStoredFileRowBytes,
      [id, call = std::move(call), reply = std::move(reply)](Tx& tx) {
        return remove_file(tx, id, call, reply);
      },
      std::move(done));
}

void Files::drop_expired(int limit, Callback<int> done) {
  submit_step(store_, Writer::Priority::kUrgent, std::move(done),
              [limit](Tx& tx) { return may_delete_rows(tx) ? drop_expired_files(tx, limit) : 0; });
}

std::optional<std::int64_t> blob_of_file(Db& db, const std::string& tenant, const base::Uuid& id,
                                         base::WallTime now) {
  auto s = db.prepare(
      "SELECT blob FROM files WHERE id = ?1 AND tenant = ?2 AND (expires_at IS NULL OR expires_at > ?3)");
  if (!s.bind(id, tenant, base::millis(now)).step()) return std::nullopt;
  return s.integer(0);
}

}  // namespace millrace::storage
