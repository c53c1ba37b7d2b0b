#include "storage/jobs/queue_positions.h"

#include <algorithm>
#include <array>

#include "storage/sql.h"

namespace millrace::storage {
namespace {

// The age from which an id that becomes ready is noted.
constexpr std::chrono::seconds kYoung{1};
// After so long everything is read from the beginning, in case that the clock of the server went back.
constexpr std::chrono::seconds kKept{30};
// Notes that every claimer has read, or will not read, because it begins anew.
constexpr std::chrono::minutes kNotesKept{5};
// A tenant has a position after so many rows: below that, few dead rows are passed.
constexpr int kRowsForPosition = 256;

// The smallest id of that time.
base::Uuid first_id_at(base::WallTime time) {
  std::array<std::uint8_t, 16> bytes{};
  constexpr int kTimeBytes = 6;
  auto ms = static_cast<std::uint64_t>(base::millis(time));
  for (int i = kTimeBytes; i-- > 0; ms >>= 8)
    bytes[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(ms);
  return base::Uuid(bytes);
}

}  // namespace

QueueReads& QueuePositions::reads(Tx& tx, schemas::Kind kind) {
  if (reads_.empty()) refresh(tx);
  return reads_[kind];
}

void QueuePositions::refresh(Tx& tx) {
  const auto now = std::chrono::steady_clock::now();
  young_ = first_id_at(tx.now - 2 * kYoung);  // further back than `note_ready`, in case the clock steps back
  const auto passed = tx.now - std::exchange(refreshed_at_, tx.now);
  const bool was_asleep = passed > kKept || passed < std::chrono::milliseconds(0);
  if (!since_ || now - *since_ > kKept || was_asleep) {
    start_again(tx);
    since_ = now;
    return;
  }
  if (first_.empty()) return;
  auto s = tx.db.prepare(R"(
      SELECT seq, kind, tenant, priority, job FROM ready_again WHERE seq > ?1 ORDER BY seq)"_sql);
  s.bind(noted_);
  while (s.step()) {
    noted_ = s.integer(0);
    note(static_cast<schemas::Kind>(s.integer(1)), s.text(2), s.integer(3), s.uuid(4));
  }
}

void QueuePositions::note(schemas::Kind kind, const std::string& tenant, std::int64_t priority,
                          const base::Uuid& job) {
  if (const auto reads = reads_.find(kind); reads != reads_.end()) reads->second.clear();
  const auto first = first_.find({kind, tenant});
  if (first == first_.end()) return;
  if (priority != 0) {
    first_.erase(first);
  } else {
    first->second = std::min(first->second, job);
  }
}

void QueuePositions::start_again(Tx& tx) {
  first_.clear();
  rows_read_.clear();
  auto s = tx.db.prepare("SELECT coalesce(max(seq), 0) FROM ready_again");
  s.step();
  noted_ = s.integer(0);
}

std::optional<base::BootTime> QueuePositions::leases_from(base::BootTime now) {
  const auto steady = std::chrono::steady_clock::now();
  const bool jumped = leases_from_ && (now < *leases_from_ || now - *leases_from_ > kKept);
  if (!leases_from_ || !all_leases_checked_ || steady - *all_leases_checked_ > kKept || jumped) {
    all_leases_checked_ = steady;
    leases_from_.reset();
  }
  return leases_from_;
}

std::optional<base::Uuid> QueuePositions::of(schemas::Kind kind, const std::string& tenant) const {
  const auto first = first_.find({kind, tenant});
  return first == first_.end() ? std::nullopt : std::optional(first->second);
}

std::optional<std::string> QueuePositions::tenant_after(schemas::Kind kind, const std::string& tenant) const {
  const auto next = first_.upper_bound({kind, tenant});
  if (next == first_.end() || next->first.first != kind) return std::nullopt;
  return next->first.second;
}

void QueuePositions::read(schemas::Kind kind, const std::string& tenant, int rows,
                          const std::optional<base::Uuid>& first) {
  const Queue queue{kind, tenant};
  const auto known = first_.find(queue);
  if (known == first_.end()) {
    int& rows_read = rows_read_[queue];
    rows_read += rows;
    if (rows_read < kRowsForPosition) return;
  }
  if (rows > 0 && !first) {
    first_.erase(queue);
    return;
  }
  first_[queue] = first ? std::min(*first, young_) : young_;
}

int remove_notes(Tx& tx, int limit) {
  if (!tx.db.has_round_trips()) return 0;
  auto s = tx.db.prepare(R"(
      DELETE FROM ready_again
      WHERE seq IN (SELECT seq FROM ready_again WHERE at < ?1 ORDER BY seq LIMIT ?2))"_sql);
  s.bind(base::millis(tx.now - kNotesKept), limit).run();
  return s.changes();
}

void note_ready(Tx& tx, const JobRow& row) {
  if (!tx.db.has_round_trips()) return;
  tx.db.kept<QueuePositions>().note(row.kind, row.tenant, row.priority, row.id);
  if (row.priority == 0 && row.id.time() >= tx.now - kYoung) return;
  tx.db
      .prepare_without_flush(R"(
          INSERT INTO ready_again (job, kind, tenant, priority, at) VALUES (?1, ?2, ?3, ?4, ?5))"_sql)
      .bind(row.id, row.kind, row.tenant, row.priority, base::millis(tx.now))
      .run();
}

}  // namespace millrace::storage
