#include "storage/jobs/idempotency.h"

#include <utility>

#include "schemas/json/json_text.h"
#include "storage/db/columns.h"
#include "storage/db/db.h"
#include "storage/jobs/job_rows.h"
#include "storage/sql.h"
#include "storage/writer/store_clock.h"

namespace millrace::storage {
namespace {

void append_sized(std::string& bytes, std::string_view field) {
  const auto size = static_cast<std::uint32_t>(field.size());
  for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(size >> shift & 0xFF));
  bytes.append(field);
}

base::Error deleted_job_error(const schemas::JobId& job) {
  return base::error(base::Code::kResultExpired,
                     "the job " + job.str() +
                         " of this Idempotency-Key has been deleted; a new job needs "
                         "a new key");
}

// Reads the current row of `s`.
base::Result<Submitted> previous_submission(Db& db, const Statement& s, const IdempotencyKey& key) {
  if (s.blob(0) != digest_bytes(key.fingerprint)) {
    return key_reused_error(s.blob(0), key.fingerprint);
  }
  const schemas::JobId job{static_cast<schemas::Kind>(s.integer(2)), s.uuid(1)};
  const auto row = find_job(db, job.uuid);
  if (!row || is_removed(db, job.uuid)) return deleted_job_error(job);
  return Submitted{job, true, row->status, scheduled_time(*row, clock_jumps(db))};
}

}  // namespace

base::Error key_reused_error(std::string_view stored, const base::Sha256Digest& sent) {
  base::Error out =
      base::error(base::Code::kIdempotencyReused,
                  "this Idempotency-Key was used with another request body; a repeat must have the same "
                  "body byte for byte, and another request a new key");
  out.details = schemas::JsonObject()
                    .member("expected_request_hash", base::hex(stored))
                    .member("provided_request_hash", base::hex(sent))
                    .finish();
  return out;
}

std::string idempotency_hash(std::string_view tenant, const IdempotencyKey& key) {
  std::string bytes;
  bytes.reserve(tenant.size() + key.method.size() + key.path.size() + key.key.size() + 16);
  for (std::string_view field :
       {tenant, std::string_view(key.method), std::string_view(key.path), std::string_view(key.key)}) {
    append_sized(bytes, field);
  }
  return std::string(digest_bytes(base::sha256(bytes)).substr(0, 16));
}

namespace {

constexpr Sql kFindKey = "SELECT fingerprint, job, kind FROM idempotency WHERE key = ?1";

}  // namespace

std::optional<base::Result<Submitted>> find_key(Db& db, const std::string& hash, const IdempotencyKey& key) {
  auto s = db.prepare_without_flush(kFindKey);
  if (!s.bind(BlobView{hash}).step()) return std::nullopt;
  return previous_submission(db, s, key);
}

void prefetch_key(Db& db, const std::string& hash) { db.prefetch(kFindKey, BlobView{hash}); }

std::optional<base::Result<Submitted>> claim_key(Db& db, const std::string& hash, const IdempotencyKey& key,
                                                 const schemas::JobId& job) {
  const bool looks_first = db.has_round_trips();
  if (looks_first) {
    if (auto before = find_key(db, hash, key)) return before;
  }
  auto s = db.prepare_without_flush(R"(
      INSERT INTO idempotency (key, fingerprint, job, kind) VALUES (?1, ?2, ?3, ?4)
      ON CONFLICT DO NOTHING)"_sql);
  s.bind(BlobView{hash}, BlobView{digest_bytes(key.fingerprint)}, job.uuid, job.kind).run();
  if (looks_first) {
    s.expect_one_change("claim a key");
    return std::nullopt;
  }
  if (s.changes() == 1) return std::nullopt;
  return find_key(db, hash, key);
}

void release_key(Tx& tx, const JobRow& row) {
  if (row.idempotency.empty()) return;
  const base::WallTime ended = base::wall_from(row.completed_at.value_or(0) - row.jumped_ms);
  const base::WallTime until = ended + kIdempotencyAge;
  if (until <= tx.steady()) {
    tx.db.prepare("DELETE FROM idempotency WHERE key = ?1").bind(BlobView{row.idempotency}).run();
  } else {
    tx.db.prepare("UPDATE idempotency SET expires_at = ?2 WHERE key = ?1")
        .bind(BlobView{row.idempotency}, base::millis(until))
        .run();
  }
}

std::optional<base::Result<CallReply>> find_stored_reply(Tx& tx, const IdempotentCall& call) {
  if (!call.key) return std::nullopt;
  const std::string hash = idempotency_hash(call.tenant, *call.key);
  auto s = tx.db.prepare("SELECT fingerprint, body FROM call_replies WHERE key = ?1");
  if (!s.bind(BlobView{hash}).step()) return std::nullopt;
  const std::string first = s.blob(0);
  if (first != digest_bytes(call.key->fingerprint)) return key_reused_error(first, call.key->fingerprint);
  return CallReply{s.blob(1), true};
}

CallReply store_reply(Tx& tx, const IdempotentCall& call, std::string body) {
  if (call.key) {
    const std::string hash = idempotency_hash(call.tenant, *call.key);
    tx.db
        .prepare(R"(
        INSERT INTO call_replies (key, fingerprint, body, expires_at) VALUES (?1, ?2, ?3, ?4))"_sql)
        .bind(BlobView{hash}, BlobView{digest_bytes(call.key->fingerprint)}, BlobView{body},
              base::millis(tx.steady() + kIdempotencyAge))
        .run();
  }
  return {std::move(body), false};
}

}  // namespace millrace::storage
