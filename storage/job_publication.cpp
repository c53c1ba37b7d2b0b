#include <utility>

#include "storage/job_upkeep.h"
#include "storage/kind_pauses.h"
#include "storage/outbox_rows.h"
#include "storage/turns.h"
#include "storage/upkeep_steps.h"
#include "storage/worker_rows.h"

namespace millrace::storage {
namespace {

constexpr std::int64_t kPerTransaction = 256;  // rows (docs/design/delivery.md, SQLite settings)

std::vector<Ready> take_in(Tx& tx, schemas::Kind kind) {
  std::vector<Ready> taken;
  std::int64_t room = std::min(window_room(tx, kind), kPerTransaction);
  if (room <= 0) return taken;
  Turns turns(tx.db, kind, TurnUse::kPublish);
  while (room-- > 0) {
    const auto id = turns.next();
    if (!id) break;
    auto row = find_job(tx.db, *id);
    if (!publish_now(tx, *row, row->epoch, taken)) break;
  }
  turns.save();
  return taken;
}

bool report_in(Tx& tx, const schemas::JobId& job, std::int64_t epoch, bool delivered) {
  auto s = tx.db.prepare("DELETE FROM outbox WHERE job = ?1 AND epoch = ?2");
  s.bind(job.uuid, epoch).run();
  if (s.changes() == 0) return false;
  if (!delivered) {
    tx.db.prepare("UPDATE jobs SET published_at = 0 WHERE id = ?1 AND status = 0 AND epoch = ?2")
        .bind(job.uuid, epoch)
        .run();
  }
  return true;
}

std::vector<Ready> republish_lost_in(Tx& tx, schemas::Kind kind, std::chrono::milliseconds age, int limit) {
  std::vector<Ready> published;
  if (is_paused(tx.db, kind) || !has_long_free_slot(tx, kind)) return published;
  std::vector<base::Uuid> lost;
  {
    auto s = tx.db.prepare(
        "SELECT id FROM jobs WHERE status = 0 AND published_at > 0 AND kind = ?1 AND published_at <= ?2 "
        "ORDER BY published_at LIMIT ?3");
    s.bind(kind, base::millis(tx.now - age), limit);
    lost = ids(s);
  }
  for_each_job(tx.db, lost, [&](JobRow& row) { publish_now(tx, row, row.epoch + 1, published); });
  return published;
}

std::vector<Ready> republish_outbox_in(Tx& tx, int limit) {
  std::vector<base::Uuid> marked;
  {
    auto s = tx.db.prepare("SELECT job FROM outbox WHERE marked_at < ?1 ORDER BY marked_at LIMIT ?2");
    s.bind(base::millis(tx.now), limit);
    marked = ids(s);
  }
  std::vector<Ready> published;
  for_each_job(tx.db, marked, [&](JobRow& row) { publish_now(tx, row, row.epoch, published); });
  return published;
}

template <class F>
void submit_publication(Store& store, Done<std::vector<Ready>> done, F f) {
  submit_move<std::vector<Ready>>(
      store.writer(), Writer::Priority::kUrgent, kStepBytes,
      [f = std::move(f)](Tx& tx) -> base::Result<std::vector<Ready>> { return f(tx); }, std::move(done));
}

}  // namespace

void JobUpkeep::take_for_publication(schemas::Kind kind, Done<std::vector<Ready>> done) {
  submit_publication(store_, std::move(done), [kind](Tx& tx) { return take_in(tx, kind); });
}

void JobUpkeep::publication_done(schemas::JobId job, std::int64_t epoch, bool delivered, Done<bool> done) {
  submit_move<bool>(
      store_.writer(), Writer::Priority::kUrgent, kStepBytes,
      [job, epoch, delivered](Tx& tx) -> base::Result<bool> { return report_in(tx, job, epoch, delivered); },
      std::move(done));
}

void JobUpkeep::republish_lost(schemas::Kind kind, std::chrono::milliseconds age, int limit,
                               Done<std::vector<Ready>> done) {
  submit_publication(store_, std::move(done),
                     [kind, age, limit](Tx& tx) { return republish_lost_in(tx, kind, age, limit); });
}

void JobUpkeep::republish_outbox(int limit, Done<std::vector<Ready>> done) {
  submit_publication(store_, std::move(done), [limit](Tx& tx) { return republish_outbox_in(tx, limit); });
}

}  // namespace millrace::storage
