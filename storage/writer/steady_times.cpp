#include "storage/writer/steady_times.h"

#include "storage/jobs/idempotency.h"
#include "storage/sql.h"
#include "storage/tenants/reservations.h"

namespace millrace::storage {
namespace {

using std::chrono::milliseconds;

void move_back_jobs(Db& db, base::WallTime from, milliseconds by) {
  auto pauses = db.prepare(R"(
      UPDATE jobs SET run_at = run_at - ?2
      WHERE status = {queued} AND schedule = {not_scheduled} AND run_at > 0 AND run_at < {waits_for_machine}
          AND run_at >= ?1)"_sql);
  pauses.bind(base::millis(from), by.count()).run();
  auto delays = db.prepare(R"(
      UPDATE jobs SET run_at = run_at - ?2, deadline = deadline - ?2, jumped_ms = jumped_ms + ?2
      WHERE status = {queued} AND schedule = {schedule_delay} AND run_at > 0
          AND created_at - jumped_ms >= ?1)"_sql);
  delays.bind(base::millis(from), by.count()).run();
  // No deadline is more than the default after the time when it was set. A child has that of its parent.
  auto open = db.prepare(R"(
      UPDATE jobs SET jumped_ms = jumped_ms + ?2
      WHERE status < {first_terminal} AND schedule = {not_scheduled}
          AND (deadline - {default_deadline_ms} - jumped_ms >= ?1
              OR parent_id IS NULL AND created_at - jumped_ms >= ?1))"_sql);
  open.bind(base::millis(from), by.count()).run();
  auto ended = db.prepare(R"(
      UPDATE jobs SET jumped_ms = jumped_ms + ?2
      WHERE status >= {first_terminal} AND parent_id IS NULL AND stripped IN (0, 1)
          AND completed_at - jumped_ms >= ?1)"_sql);
  ended.bind(base::millis(from), by.count()).run();
}

}  // namespace

void move_back_steady_times(Db& db, base::WallTime from, milliseconds by) {
  move_back_jobs(db, from, by);
  db.prepare("UPDATE machines SET used_at = used_at - ?2 WHERE used_at >= ?1")
      .bind(base::millis(from), by.count())
      .run();
  db.prepare("UPDATE reservations SET expires_at = expires_at - ?2 WHERE expires_at >= ?1")
      .bind(base::millis(from + kReservationLife), by.count())
      .run();
  db.prepare("UPDATE idempotency SET expires_at = expires_at - ?2 WHERE expires_at >= ?1")
      .bind(base::millis(from + kIdempotencyAge), by.count())
      .run();
  db.prepare("UPDATE call_replies SET expires_at = expires_at - ?2 WHERE expires_at >= ?1")
      .bind(base::millis(from + kIdempotencyAge), by.count())
      .run();
  db.prepare(R"(
      UPDATE webhook_deliveries SET next_at = next_at - ?2,
          since = CASE WHEN since >= ?1 THEN since - ?2 ELSE since END,
          lease_until = CASE WHEN lease_until >= ?1 THEN lease_until - ?2 ELSE lease_until END
      WHERE state = {delivery_pending} AND next_at >= ?1)"_sql)
      .bind(base::millis(from), by.count())
      .run();
  db.prepare("UPDATE webhook_endpoints SET enabled_at = enabled_at - ?2 WHERE enabled_at >= ?1")
      .bind(base::millis(from), by.count())
      .run();
  db.prepare("UPDATE webhook_endpoints SET previous_until = previous_until - ?2 WHERE previous_until >= ?1")
      .bind(base::millis(from), by.count())
      .run();
}

}  // namespace millrace::storage
