#include "storage/job_events.h"
#include "storage/job_moves.h"

namespace millrace::storage {

// The only place where children_left is decremented (rule 5). The last child releases a waiting parent. For a
// parent that has ended meanwhile, it only counts.
void JobMoves::child_ended(const base::Uuid& parent) {
  auto lower =
      tx_.db.prepare("UPDATE jobs SET children_left = children_left - 1 WHERE id = ?1 AND children_left > 0");
  lower.bind(parent).run();
  expect_one_change(lower, "count a child");
  auto row = find_job(tx_.db, parent);
  if (row->status != schemas::JobStatus::kWaiting || row->children_left > 0) return;

  const std::int64_t published_at = publisher_.take_room(*row);
  auto s = tx_.db.prepare(
      "UPDATE jobs SET status = 0, run_at = 0, epoch = epoch + 1, published_at = ?2, version = version + 1 "
      "WHERE id = ?1 AND status = 2 AND children_left = 0");
  s.bind(parent, published_at).run();
  expect_one_change(s, "release a parent");
  row->status = schemas::JobStatus::kQueued;
  row->run_at = 0;
  row->published_at = published_at;
  ++row->epoch;
  record(tx_, *row, "queued", R"({"reason":"children_done"})");
  announce(*row);
}

}  // namespace millrace::storage
