#include "storage/audit_rows.h"

#include <algorithm>

#include "storage/columns.h"
#include "storage/sqlite.h"

namespace millrace::storage {
namespace {

// Where the chain ends now. The write transaction has the lock of the whole file: no other process adds a row
// between this and the INSERT.
struct Tail {
  std::int64_t seq = 0;
  base::Sha256Digest hash{};
};

// `seq` counts on from every row that there ever was: a chain whose last rows were cut off shows a gap.
Tail tail(Db& db) {
  Tail out;
  auto s = db.prepare(
      "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'audit'), 0), "
      "(SELECT hash FROM audit WHERE seq = (SELECT max(seq) FROM audit))");
  if (!s.step()) return out;
  out.seq = s.integer(0);
  const std::string hash = s.blob(1);
  std::copy_n(hash.begin(), std::min(hash.size(), out.hash.size()), out.hash.begin());
  return out;
}

}  // namespace

void append_audit(Tx& tx, const AuditEntry& entry) {
  const Tail last = tail(tx.db);
  AuditRow row{.seq = last.seq + 1, .at = tx.now, .entry = entry, .prev_hash = last.hash, .hash = {}};
  row.hash = audit_hash(last.hash, row);
  tx.db
      .prepare(
          "INSERT INTO audit (seq, at, tenant, actor, act, target, data, prev_hash, hash) "
          "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")
      .bind(row.seq, base::millis(row.at), entry.tenant, entry.actor, entry.act, entry.target, entry.data,
            BlobView{bytes_of(row.prev_hash)}, BlobView{bytes_of(row.hash)})
      .run();
}

void audit_execution(Tx& tx, const Caller& by, std::string_view act, const schemas::JobId& job) {
  if (by.actor.empty() || job.kind != schemas::Kind::kExec) return;
  append_audit(
      tx,
      {.tenant = by.tenant, .actor = by.actor, .act = "execution." + std::string(act), .target = job.str()});
}

}  // namespace millrace::storage
