#include "storage/jobs/kind_pauses.h"

#include "storage/admin/audit.h"
#include "storage/db/db.h"
#include "storage/jobs/claim_order.h"
#include "storage/sql.h"
#include "storage/writer/readers.h"

namespace millrace::storage {
namespace {

constexpr std::size_t kPauseBytes = 64;

bool pause_in(Tx& tx, schemas::Kind kind, const Caller& by) {
  if (is_paused(tx.db, kind)) return false;
  tx.db
      .prepare(R"(
          INSERT INTO turns (kind, use, tenant, paused_at) VALUES (?1, ?2, '', ?3)
          ON CONFLICT (kind, use) DO UPDATE SET paused_at = excluded.paused_at)"_sql)
      .bind(kind, CursorUse::kClaim, base::millis(tx.now))
      .run();
  audit_operation(tx, by, "queue.pause", schemas::name(kind));
  return true;
}

// Parked claims found nothing during the pause, so they run again.
bool resume_in(Tx& tx, schemas::Kind kind, const Caller& by) {
  auto s = tx.db.prepare(R"(
      UPDATE turns SET paused_at = NULL
      WHERE kind = ?1 AND use = ?2 AND paused_at IS NOT NULL)"_sql);
  s.bind(kind, CursorUse::kClaim).run();
  if (s.changes() == 0) return false;
  tx.retry_parked_claims = true;
  audit_operation(tx, by, "queue.resume", schemas::name(kind));
  return true;
}

}  // namespace

bool is_paused(Db& db, schemas::Kind kind) {
  auto s = db.prepare("SELECT paused_at IS NOT NULL FROM turns WHERE kind = ?1 AND use = ?2");
  return s.bind(kind, CursorUse::kClaim).step() && s.integer(0) != 0;
}

void KindPauses::pause(schemas::Kind kind, Callback<bool> done, Caller by) {
  submit_write<bool>(
      store_.writer(), Writer::Priority::kInteractive, kPauseBytes,
      [kind, by = std::move(by)](Tx& tx) -> base::Result<bool> { return pause_in(tx, kind, by); },
      std::move(done));
}

void KindPauses::resume(schemas::Kind kind, Callback<bool> done, Caller by) {
  submit_write<bool>(
      store_.writer(), Writer::Priority::kInteractive, kPauseBytes,
      [kind, by = std::move(by)](Tx& tx) -> base::Result<bool> { return resume_in(tx, kind, by); },
      std::move(done));
}

base::Result<std::vector<PausedKind>> KindPauses::list() {
  std::vector<PausedKind> kinds;
  auto status = store_.readers().read([&](Db& db) {
    auto s = db.prepare("SELECT kind, paused_at FROM turns WHERE use = ?1 AND paused_at IS NOT NULL");
    s.bind(CursorUse::kClaim);
    while (s.step())
      kinds.push_back({static_cast<schemas::Kind>(s.integer(0)), base::wall_from(s.integer(1))});
  });
  if (!status) return status.error();
  return kinds;
}

}  // namespace millrace::storage
