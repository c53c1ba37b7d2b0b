#include "storage/jobs/maintenance_steps.h"

#include "storage/sql.h"
#include "storage/writer/store_clock.h"

namespace millrace::storage {

bool may_expire_leases(const Tx& tx, std::chrono::milliseconds lease) {
  return tx.boot - tx.clocks.regular_since >= lease && tx.boot - tx.clocks.agreed_since >= lease;
}

static_assert(kRetentionGrace >= StoreClock::kBootGrace,
              "nothing is deleted before the clock may be set right");

bool may_delete_rows(const Tx& tx) { return tx.boot - tx.clocks.agreed_since >= kRetentionGrace; }

bool may_expire_jobs(const Tx& tx) { return tx.boot - tx.clocks.agreed_since >= kDeadlineGrace; }

std::vector<base::Uuid> removed_and_ended(Db& db, int limit) {
  auto s = db.prepare(R"(
      SELECT id FROM jobs INDEXED BY jobs_removed
      WHERE removed = 1 AND status >= {first_terminal} AND children_left = 0 LIMIT ?1)"_sql);
  s.bind(limit);
  return ids(s);
}

}  // namespace millrace::storage
