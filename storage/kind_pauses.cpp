#include "storage/kind_pauses.h"

#include "storage/readers.h"
#include "storage/sqlite.h"
#include "storage/turns.h"

namespace millrace::storage {
namespace {

constexpr std::size_t kPauseBytes = 64;

bool pause_in(Tx& tx, schemas::Kind kind) {
  if (is_paused(tx.db, kind)) return false;
  tx.db
      .prepare(
          "INSERT INTO turns (kind, use, tenant, paused_at) VALUES (?1, ?2, '', ?3) "
          "ON CONFLICT (kind, use) DO UPDATE SET paused_at = excluded.paused_at")
      .bind(kind, TurnUse::kClaim, base::millis(tx.now))
      .run();
  return true;
}

// Parked claims found nothing during the pause, so they run again.
bool resume_in(Tx& tx, schemas::Kind kind) {
  auto s = tx.db.prepare(
      "UPDATE turns SET paused_at = NULL WHERE kind = ?1 AND use = ?2 AND paused_at IS NOT NULL");
  s.bind(kind, TurnUse::kClaim).run();
  if (s.changes() == 0) return false;
  tx.ask_standing = true;
  return true;
}

}  // namespace

bool is_paused(Db& db, schemas::Kind kind) {
  auto s = db.prepare("SELECT paused_at IS NOT NULL FROM turns WHERE kind = ?1 AND use = ?2");
  return s.bind(kind, TurnUse::kClaim).step() && s.integer(0) != 0;
}

void KindPauses::pause(schemas::Kind kind, Done<bool> done) {
  submit_move<bool>(
      store_.writer(), Writer::Priority::kAsked, kPauseBytes,
      [kind](Tx& tx) -> base::Result<bool> { return pause_in(tx, kind); }, std::move(done));
}

void KindPauses::resume(schemas::Kind kind, Done<bool> done) {
  submit_move<bool>(
      store_.writer(), Writer::Priority::kAsked, kPauseBytes,
      [kind](Tx& tx) -> base::Result<bool> { return resume_in(tx, kind); }, std::move(done));
}

base::Result<std::vector<PausedKind>> KindPauses::list() {
  std::vector<PausedKind> kinds;
  auto status = store_.readers().read([&](Db& db) {
    auto s = db.prepare("SELECT kind, paused_at FROM turns WHERE use = ?1 AND paused_at IS NOT NULL");
    s.bind(TurnUse::kClaim);
    while (s.step())
      kinds.push_back({static_cast<schemas::Kind>(s.integer(0)), base::wall_from(s.integer(1))});
  });
  if (!status) return status.error();
  return kinds;
}

}  // namespace millrace::storage
