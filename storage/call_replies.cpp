#include "storage/call_replies.h"

#include <utility>

#include "storage/columns.h"
#include "storage/idempotency_rows.h"
#include "storage/sqlite.h"

namespace millrace::storage {

std::optional<base::Result<Answer>> reply_before(Tx& tx, const MachineCall& call) {
  if (!call.key) return std::nullopt;
  const std::string hash = idempotency_hash(call.tenant, *call.key);
  auto s = tx.db.prepare("SELECT fingerprint, body FROM call_replies WHERE key = ?1");
  if (!s.bind(BlobView{hash}).step()) return std::nullopt;
  const std::string first = s.blob(0);
  if (first != bytes_of(call.key->fingerprint)) return reused(first, call.key->fingerprint);
  return Answer{s.blob(1), true};
}

Answer keep_reply(Tx& tx, const MachineCall& call, std::string body) {
  if (call.key) {
    const std::string hash = idempotency_hash(call.tenant, *call.key);
    tx.db.prepare("INSERT INTO call_replies (key, fingerprint, body, expires_at) VALUES (?1, ?2, ?3, ?4)")
        .bind(BlobView{hash}, BlobView{bytes_of(call.key->fingerprint)}, BlobView{body},
              base::millis(tx.now + kIdempotencyAge))
        .run();
  }
  return {std::move(body), false};
}

}  // namespace millrace::storage
