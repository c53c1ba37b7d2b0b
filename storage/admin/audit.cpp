#include "storage/admin/audit.h"

#include <algorithm>
#include <utility>

#include "storage/db/columns.h"
#include "storage/db/db.h"
#include "storage/sql.h"
#include "storage/writer/readers.h"

namespace millrace::storage {
namespace {

constexpr std::size_t kAuditRowBytes = 256;
constexpr int kPageRows = 2'000;  // rows per read: some 5 ms

// A netstring: bytes cannot move from one field to the next.
void append_netstring(std::string& bytes, std::string_view field) {
  bytes.append(std::to_string(field.size())).append(":").append(field).append(",");
}

AuditRow row_at(const Statement& row) {
  return {.seq = row.integer(0),
          .at = base::wall_from(row.integer(1)),
          .entry = {.tenant = row.text(2),
                    .actor = row.text(3),
                    .act = row.text(4),
                    .target = row.text(5),
                    .data = row.text(6)},
          .prev_hash = digest_at(row, 7),
          .hash = digest_at(row, 8)};
}

std::vector<AuditRow> rows_after(Db& db, std::int64_t after, int limit) {
  std::vector<AuditRow> rows;
  auto s = db.prepare(R"(
      SELECT seq, at, tenant, actor, act, target, data, prev_hash, hash FROM audit
      WHERE seq > ?1
      ORDER BY seq LIMIT ?2)"_sql);
  s.bind(after, limit);
  while (s.step()) rows.push_back(row_at(s));
  return rows;
}

// The number of the newest row, even if that row was deleted.
std::int64_t last_assigned_seq(Db& db) {
  auto s = db.prepare("SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'audit'), 0)");
  return s.step() ? s.integer(0) : 0;
}

struct Page {
  std::vector<AuditRow> rows;
  std::int64_t last_assigned_seq = 0;
};

// Verifies one more page. False: the chain is broken, or this was the last page.
bool check_page(Audit::Verification& verification, const Page& page) {
  for (const AuditRow& row : page.rows) {
    const bool follows = row.seq == verification.rows + 1 && row.prev_hash == verification.last_hash &&
                         row.hash == audit_hash(verification.last_hash, row);
    if (!follows) {
      verification.broken_at = verification.rows + 1;
      return false;
    }
    verification.rows = row.seq;
    verification.last_hash = row.hash;
  }
  if (page.rows.size() == kPageRows) return true;
  if (page.last_assigned_seq != verification.rows) verification.broken_at = verification.rows + 1;
  return false;
}

}  // namespace

base::Sha256Digest audit_hash(const base::Sha256Digest& prev, const AuditRow& row) {
  std::string bytes(reinterpret_cast<const char*>(prev.data()), prev.size());
  append_netstring(bytes, std::to_string(row.seq));
  append_netstring(bytes, std::to_string(base::millis(row.at)));
  const AuditEntry& entry = row.entry;
  for (const std::string* field : {&entry.tenant, &entry.actor, &entry.act, &entry.target, &entry.data}) {
    append_netstring(bytes, *field);
  }
  return base::sha256(bytes);
}

void Audit::append(AuditEntry entry, Callback<bool> done) {
  const std::size_t bytes = kAuditRowBytes + entry.target.size() + entry.data.size();
  submit_write<bool>(
      store_.writer(), Writer::Priority::kNormal, bytes,
      [entry = std::move(entry)](Tx& tx) -> base::Result<bool> {
        append_audit(tx, entry);
        return true;
      },
      std::move(done));
}

base::Result<std::vector<AuditRow>> Audit::rows(std::int64_t after, int limit) {
  if (limit <= 0) return std::vector<AuditRow>();
  return read(store_.readers(), [&](Db& db) { return rows_after(db, after, limit); });
}

base::Result<Audit::Verification> Audit::verify() {
  Verification verification;
  for (bool more = true; more;) {
    const auto page = read(store_.readers(), [&](Db& db) {
      return Page{rows_after(db, verification.rows, kPageRows), last_assigned_seq(db)};
    });
    if (!page) return page.error();
    more = check_page(verification, *page);
  }
  return verification;
}

namespace {

// The current end of the chain. The write transaction holds the lock of the whole file, so no other process
// adds a row between this read and the INSERT.
struct Tail {
  std::int64_t seq = 0;
  base::Sha256Digest hash{};
};

// `seq` continues from every row that ever existed, so that a chain whose last rows were deleted shows a gap.
Tail tail(Db& db) {
  Tail out;
  auto s = db.prepare(R"(
      SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'audit'), 0),
          (SELECT hash FROM audit WHERE seq = (SELECT max(seq) FROM audit)))"_sql);
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
      .prepare(R"(
          INSERT INTO audit (seq, at, tenant, actor, act, target, data, prev_hash, hash)
          VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9))"_sql)
      .bind(row.seq, base::millis(row.at), entry.tenant, entry.actor, entry.act, entry.target, entry.data,
            BlobView{digest_bytes(row.prev_hash)}, BlobView{digest_bytes(row.hash)})
      .run();
}

void audit_operation(Tx& tx, const Caller& by, std::string_view act, std::string_view target) {
  if (by.actor.empty()) return;
  append_audit(
      tx, {.tenant = by.tenant, .actor = by.actor, .act = std::string(act), .target = std::string(target)});
}

void audit_execution(Tx& tx, const Caller& by, std::string_view act, const schemas::JobId& job) {
  if (by.actor.empty() || job.kind != schemas::Kind::kExec) return;
  append_audit(
      tx,
      {.tenant = by.tenant, .actor = by.actor, .act = "execution." + std::string(act), .target = job.str()});
}

}  // namespace millrace::storage
