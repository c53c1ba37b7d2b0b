#include "storage/audit.h"

#include <algorithm>
#include <utility>

#include "storage/audit_rows.h"
#include "storage/columns.h"
#include "storage/readers.h"
#include "storage/sqlite.h"

namespace millrace::storage {
namespace {

constexpr std::size_t kAuditRowBytes = 256;
constexpr int kPageRows = 2'000;  // of one read: some 5 ms

// As a netstring: what is between two fields cannot move from one to the other.
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
  auto s = db.prepare(
      "SELECT seq, at, tenant, actor, act, target, data, prev_hash, hash FROM audit WHERE seq > ?1 "
      "ORDER BY seq LIMIT ?2");
  s.bind(after, limit);
  while (s.step()) rows.push_back(row_at(s));
  return rows;
}

// The number that the newest row was given, also when it is not there any more.
std::int64_t last_given(Db& db) {
  auto s = db.prepare("SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'audit'), 0)");
  return s.step() ? s.integer(0) : 0;
}

struct Page {
  std::vector<AuditRow> rows;
  std::int64_t last_given = 0;
};

// Goes on with `verdict` over one page. False: it is broken, or this was the last page.
bool go_on(Audit::Verdict& verdict, const Page& page) {
  for (const AuditRow& row : page.rows) {
    const bool follows = row.seq == verdict.rows + 1 && row.prev_hash == verdict.last_hash &&
                         row.hash == audit_hash(verdict.last_hash, row);
    if (!follows) {
      verdict.broken_at = verdict.rows + 1;
      return false;
    }
    verdict.rows = row.seq;
    verdict.last_hash = row.hash;
  }
  if (page.rows.size() == kPageRows) return true;
  if (page.last_given != verdict.rows) verdict.broken_at = verdict.rows + 1;
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

void Audit::append(AuditEntry entry, Done<bool> done) {
  const std::size_t bytes = kAuditRowBytes + entry.target.size() + entry.data.size();
  submit_move<bool>(
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

base::Result<Audit::Verdict> Audit::verify() {
  Verdict verdict;
  for (bool more = true; more;) {
    const auto page = read(store_.readers(), [&](Db& db) {
      return Page{rows_after(db, verdict.rows, kPageRows), last_given(db)};
    });
    if (!page) return page.error();
    more = go_on(verdict, *page);
  }
  return verdict;
}

}  // namespace millrace::storage
