#include "storage/ids_ahead.h"

#include <algorithm>

namespace millrace::storage {

void note_ahead(Db& db, const JobRow& row) {
  const std::int64_t ahead = base::millis(row.id.time()) - row.created_at;
  if (ahead <= kAheadOfAny.count()) return;
  auto s = db.prepare("UPDATE meta SET value = ?1 WHERE name = 'ids_ahead_ms' AND value < ?1");
  s.bind(ahead).run();
}

std::chrono::milliseconds ids_ahead(Db& db) {
  auto s = db.prepare("SELECT value FROM meta WHERE name = 'ids_ahead_ms'");
  const std::chrono::milliseconds noted(s.step() ? s.integer(0) : 0);
  return std::max(kAheadOfAny, noted);
}

}  // namespace millrace::storage
