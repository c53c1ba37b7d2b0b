#include "storage/served_kinds.h"

#include "storage/readers.h"
#include "storage/sqlite.h"
#include "storage/worker_rows.h"

namespace millrace::storage {

base::Result<std::vector<schemas::Kind>> served_kinds(Store& store) {
  std::vector<schemas::Kind> kinds;
  const std::int64_t alive = base::millis(store.clock().wall() - kWorkerAlive);
  auto status = store.readers().read([&](Db& db) {
    auto s = db.prepare(
        "SELECT DISTINCT s.kind FROM workers AS w CROSS JOIN worker_slots AS s ON s.worker = w.name "
        "WHERE w.draining = 0 AND w.seen_at > ?1 AND s.slots > 0");
    s.bind(alive);
    while (s.step()) kinds.push_back(static_cast<schemas::Kind>(s.integer(0)));
  });
  if (!status) return status.error();
  return kinds;
}

}  // namespace millrace::storage
