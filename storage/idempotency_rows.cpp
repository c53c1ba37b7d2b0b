#include "storage/idempotency_rows.h"

#include "storage/job_rows.h"

namespace millrace::storage {
namespace {

void append_field(std::string& bytes, std::string_view field) {
  const auto size = static_cast<std::uint32_t>(field.size());
  for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(size >> shift & 0xFF));
  bytes.append(field);
}

std::string_view view(const base::Sha256Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

// The row at which `s` stands.
base::Result<Submitted> made_before(Db& db, const Statement& s, const IdempotencyKey& key) {
  if (s.blob(0) != view(key.fingerprint)) {
    return base::error(base::Code::kIdempotencyReused,
                       "this Idempotency-Key was used with another request body; send a new key");
  }
  Submitted made{{static_cast<schemas::Kind>(s.integer(2)), s.uuid(1)}, true, schemas::JobStatus::kQueued};
  if (const auto ended = s.optional_integer(3)) {
    made.status = static_cast<schemas::JobStatus>(*ended);
  } else if (const auto row = find_job(db, made.job.uuid)) {
    made.status = row->status;
  }
  return made;
}

}  // namespace

std::string idempotency_hash(std::string_view tenant, const IdempotencyKey& key) {
  std::string bytes;
  bytes.reserve(tenant.size() + key.method.size() + key.path.size() + key.key.size() + 16);
  for (std::string_view field :
       {tenant, std::string_view(key.method), std::string_view(key.path), std::string_view(key.key)}) {
    append_field(bytes, field);
  }
  return std::string(view(base::sha256(bytes)).substr(0, 16));
}

std::optional<base::Result<Submitted>> find_key(Db& db, const std::string& hash, const IdempotencyKey& key) {
  auto s = db.prepare("SELECT fingerprint, job, kind, ended FROM idempotency WHERE key = ?1");
  if (!s.bind(BlobView{hash}).step()) return std::nullopt;
  return made_before(db, s, key);
}

std::optional<base::Result<Submitted>> take_key(Db& db, const std::string& hash, const IdempotencyKey& key,
                                                const schemas::JobId& job) {
  auto s = db.prepare(
      "INSERT INTO idempotency (key, fingerprint, job, kind) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING");
  s.bind(BlobView{hash}, BlobView{view(key.fingerprint)}, job.uuid, job.kind).run();
  if (s.changes() == 1) return std::nullopt;
  return find_key(db, hash, key);
}

base::Result<bool> take_call_key(Tx& tx, std::string_view tenant, const IdempotencyKey& key,
                                 const schemas::JobId& job) {
  const std::string hash = idempotency_hash(tenant, key);
  if (const auto before = take_key(tx.db, hash, key, job)) {
    if (!*before) return before->error();
    return false;
  }
  tx.db.prepare("UPDATE idempotency SET expires_at = ?2 WHERE key = ?1")
      .bind(BlobView{hash}, base::millis(tx.now + kIdempotencyAge))
      .run();
  return true;
}

void release_key(Db& db, const JobRow& row, base::WallTime now) {
  if (row.idempotency.empty()) return;
  const base::WallTime until = base::wall_from(row.completed_at.value_or(0)) + kIdempotencyAge;
  if (until <= now) {
    db.prepare("DELETE FROM idempotency WHERE key = ?1").bind(BlobView{row.idempotency}).run();
  } else {
    db.prepare("UPDATE idempotency SET expires_at = ?2, ended = ?3 WHERE key = ?1")
        .bind(BlobView{row.idempotency}, base::millis(until), row.status)
        .run();
  }
}

}  // namespace millrace::storage
