#include "storage/writer/store_clock.h"

#include <algorithm>
#include <utility>

#include "storage/sql.h"
#include "storage/writer/steady_times.h"

namespace millrace::storage {
namespace {

using std::chrono::milliseconds;

struct ClockRow {
  std::int64_t boot = 0;
  base::BootTime first_commit{};
  milliseconds offset{};
  base::WallTime seen_at{};
  milliseconds jumped{};
  base::WallTime last_boot_seen_at{};
  milliseconds last_boot_jumped{};
};

ClockRow read_clock(Db& db) {
  auto s = db.prepare(R"(
      SELECT boot, first_commit_boot_ms, offset_ms, seen_at, jumped_ms, last_boot_seen_at, last_boot_jumped_ms
      FROM clock WHERE one = 1)"_sql);
  s.step();
  return {s.integer(0),
          base::boot_from(s.integer(1)),
          milliseconds(s.integer(2)),
          base::wall_from(s.integer(3)),
          milliseconds(s.integer(4)),
          base::wall_from(s.integer(5)),
          milliseconds(s.integer(6))};
}

void write_clock(Db& db, const ClockRow& row) {
  auto s = db.prepare(R"(
      UPDATE clock SET boot = ?1, first_commit_boot_ms = ?2, offset_ms = ?3, seen_at = ?4, jumped_ms = ?5,
          last_boot_seen_at = ?6, last_boot_jumped_ms = ?7
      WHERE one = 1)"_sql);
  s.bind(row.boot, base::millis(row.first_commit), row.offset.count(), base::millis(row.seen_at),
         row.jumped.count(), base::millis(row.last_boot_seen_at), row.last_boot_jumped.count())
      .run();
}

// The sum of the jumps if the wall clock has been right since the boot. `first` is its time at the first
// commit. It has jumped only if it stood before the last commit of the boot before.
milliseconds jumps_if_right_since_boot(const ClockRow& row, base::WallTime first) {
  return row.last_boot_jumped + std::min(milliseconds(0), first - row.last_boot_seen_at);
}

bool was_wrong_since_boot(const ClockRow& row, milliseconds jump, base::BootTime boot) {
  const bool has_earlier_boot = row.last_boot_seen_at != base::WallTime();
  return has_earlier_boot && jump < milliseconds(0) && boot - row.first_commit < StoreClock::kBootGrace;
}

// The only step back of steady time. What was made since the boot goes back with it.
void undo_error_of_boot(Db& db, ClockRow& row, base::WallTime now, base::BootTime boot) {
  const milliseconds since_boot = boot - row.first_commit;
  const milliseconds undone = jumps_if_right_since_boot(row, now - since_boot) - row.jumped;
  if (undone <= milliseconds(0)) return;
  move_back_steady_times(db, now - row.jumped - since_boot, undone);
  row.jumped += undone;
}

milliseconds offset_of(base::WallTime now, base::BootTime boot) {
  return now.time_since_epoch() - boot.time_since_epoch();
}

}  // namespace

milliseconds StoreClock::on_group_begin(Db& db, base::WallTime now, base::BootTime boot) {
  pending_.reset();
  const bool jumped = !recorded_ || std::chrono::abs(offset_of(now, boot) - recorded_->offset) > kJumpMin;
  if (!jumped && boot - seen_at_ < kSeenPeriod) return recorded_->jumped;
  seen_at_ = boot;
  pending_ = record(db, now, boot);
  return pending_->jumped;
}

void StoreClock::on_group_committed() {
  if (pending_) recorded_ = std::exchange(pending_, std::nullopt);
}

// Another process may have recorded the jump already.
StoreClock::Recorded StoreClock::record(Db& db, base::WallTime now, base::BootTime boot) const {
  ClockRow row = read_clock(db);
  const milliseconds jump = offset_of(now, boot) - row.offset;
  if (row.boot != boot_number_) {
    row.last_boot_seen_at = row.seen_at;
    row.last_boot_jumped = row.jumped;
    row.boot = boot_number_;
    row.first_commit = boot;
    row.offset += jump;
    row.jumped = jumps_if_right_since_boot(row, now);
  } else if (std::chrono::abs(jump) > kJumpMin) {
    row.offset += jump;
    row.jumped += jump;
    if (was_wrong_since_boot(row, jump, boot)) undo_error_of_boot(db, row, now, boot);
  }
  row.seen_at = now;
  write_clock(db, row);
  return {row.offset, row.jumped};
}

milliseconds clock_jumps(Db& db) {
  auto s = db.prepare("SELECT jumped_ms FROM clock WHERE one = 1");
  return milliseconds(s.step() ? s.integer(0) : 0);
}

}  // namespace millrace::storage
