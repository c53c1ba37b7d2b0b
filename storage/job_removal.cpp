#include "storage/job_removal.h"

#include <vector>

#include "storage/blob_rows.h"
#include "storage/idempotency_rows.h"
#include "storage/kind_rules.h"
#include "storage/payload_rows.h"
#include "storage/upkeep_steps.h"

namespace millrace::storage {
namespace {

void delete_row(Tx& tx, const JobRow& row) {
  drop_spec(tx.db, row.spec);
  drop_result(tx.db, row.result);
  tx.db.prepare("DELETE FROM jobs WHERE id = ?1 AND status >= 3").bind(row.id).run();
}

// Deletes at most `budget` events; returns how many.
int drop_output(Tx& tx, const JobRow& row, int budget) {
  if (!kind_rules(row.kind).tells_output) return 0;
  auto s = tx.db.prepare(
      "DELETE FROM job_events WHERE job = ?1 AND version IN "
      "(SELECT version FROM job_events WHERE job = ?1 ORDER BY version LIMIT ?2)");
  s.bind(row.id, budget).run();
  return s.changes();
}

void drop_artifacts(Tx& tx, const JobRow& row) {
  if (!kind_rules(row.kind).leaves_artifacts) return;
  auto s = tx.db.prepare("DELETE FROM artifacts WHERE job = ?1 RETURNING blob");
  s.bind(row.id);
  while (s.step()) drop_ref(tx.db, s.optional_integer(0));
}

}  // namespace

int erase_job(Tx& tx, const JobRow& row, int budget) {
  std::vector<base::Uuid> children;
  if (row.children > 0) {
    auto s = tx.db.prepare("SELECT id FROM jobs WHERE parent_id = ?1 LIMIT ?2");
    s.bind(row.id, budget);
    children = ids(s);
  }
  int gone = for_each_job(tx.db, children, [&](const JobRow& child) { delete_row(tx, child); });
  if (gone < budget) gone += drop_output(tx, row, budget - gone);
  if (gone >= budget) return gone;
  drop_parts(tx.db, row.id);
  drop_artifacts(tx, row);
  drop_ref(tx.db, row.input);
  tx.db.prepare("DELETE FROM job_events WHERE job = ?1").bind(row.id).run();
  release_key(tx.db, row, tx.now);
  delete_row(tx, row);
  return gone + 1;
}

}  // namespace millrace::storage
