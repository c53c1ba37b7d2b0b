#include "storage/blobs/blob_rows.h"

#include "platform/base/log.h"
#include "storage/jobs/job_rows.h"
#include "storage/sql.h"

namespace millrace::storage {
namespace {

int nibble(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(nibble(hex[i]) << 4 | nibble(hex[i + 1])));
  }
  return bytes;
}

}  // namespace

std::int64_t BlobClaim::take(Db& db, std::string_view tenant, const Staged& staged) {
  const BlobRef& ref = staged->ref();
  if (staged->is_expired()) throw DbError{.message = "the file " + ref.path + " was written too long ago"};
  const std::string sha256 = from_hex(ref.sha256_hex);
  auto s = db.prepare(R"(
      INSERT INTO blobs (sha256, tenant, path, bytes, refs) VALUES (?1, ?2, ?3, ?4, 1)
      ON CONFLICT (sha256, tenant) DO UPDATE SET refs = blobs.refs + 1
      RETURNING id, path)"_sql);
  s.bind(BlobView{sha256}, tenant, ref.path, ref.bytes).step();
  const std::int64_t id = s.integer(0);
  taken_.emplace_back(staged, s.text(1) == ref.path);
  s.step();
  return id;
}

void BlobClaim::committed() {
  for (auto& [staged, referenced] : taken_) staged->set_referenced(referenced);
  taken_.clear();
}

std::optional<BlobRef> find_blob(Db& db, std::int64_t id) {
  auto s = db.prepare("SELECT lower(hex(sha256)), path, bytes FROM blobs WHERE id = ?1");
  if (!s.bind(id).step()) return std::nullopt;
  return BlobRef{s.text(0), s.text(1), s.integer(2)};
}

base::Result<BlobRef> referenced_blob(Db& db, std::int64_t id, const std::string& referrer) {
  if (auto found = find_blob(db, id)) return *std::move(found);
  base::log_error("store_row_missing", {{"row", "blobs " + std::to_string(id) + " of " + referrer}});
  return base::error(
      base::Code::kStoredDamaged,
      "A stored file that this request needs is missing in the gateway's database. The gateway's "
      "log names it");
}

std::int64_t blob_bytes(Db& db, std::optional<std::int64_t> id) {
  if (!id) return 0;
  auto s = db.prepare("SELECT bytes FROM blobs WHERE id = ?1");
  return s.bind(*id).step() ? s.integer(0) : 0;
}

void add_ref(Db& db, std::int64_t id) {
  auto s = db.prepare("UPDATE blobs SET refs = refs + 1 WHERE id = ?1");
  s.bind(id).run();
  expect_one_change(s, "reference a blob");
}

void drop_ref(Db& db, std::optional<std::int64_t> id) {
  if (!id) return;
  auto s = db.prepare("UPDATE blobs SET refs = refs - 1 WHERE id = ?1 AND refs > 0");
  s.bind(*id).run();
  expect_one_change(s, "drop a blob's reference");
}

bool is_path_referenced(Db& db, const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  const std::string sha256 = from_hex(std::string_view(name).substr(0, 64));
  auto s = db.prepare("SELECT 1 FROM blobs WHERE sha256 = ?1 AND path = ?2");
  return s.bind(BlobView{sha256}, path).step();
}

std::vector<std::string> delete_unreferenced(Db& db, int limit) {
  auto s = db.prepare(R"(
      DELETE FROM blobs
      WHERE id IN (SELECT id FROM blobs WHERE refs = 0 LIMIT ?1)
      RETURNING path)"_sql);
  s.bind(limit);
  std::vector<std::string> paths;
  while (s.step()) paths.push_back(s.text(0));
  return paths;
}

}  // namespace millrace::storage
