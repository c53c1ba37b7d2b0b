#include "storage/workers/workers.h"

#include <utility>

#include "platform/base/crypto.h"
#include "storage/admin/audit.h"
#include "storage/db/db.h"
#include "storage/sql.h"
#include "storage/writer/readers.h"
#include "storage/writer/writer.h"

namespace millrace::storage {

std::int64_t boot_number(std::string_view boot_id) {
  const auto digest = base::sha256(boot_id);
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < 6; ++i) number = number << 8 | digest[i];
  return static_cast<std::int64_t>(number) + 1;  // 0 is never a boot
}

namespace {

std::optional<std::string> lags_text(const std::vector<schemas::PartitionLag>& lags) {
  if (lags.empty()) return std::nullopt;
  std::string out;
  for (const schemas::PartitionLag& lag : lags) {
    out += out.empty() ? "[" : ",";
    out += "[" + std::to_string(lag.partition) + "," + std::to_string(lag.tokens) + "]";
  }
  return out + "]";
}

void write_slots(Tx& tx, const std::string& worker, const SlotReport& report) {
  const bool free = report.used < report.slots && !report.blocked_by_lanes;
  const auto lags = lags_text(report.lags);
  tx.db
      .prepare(R"(
          INSERT INTO worker_slots (worker, kind, slots, used, free_since, lags)
          VALUES (?1, ?2, ?3, ?4, ?5, ?6)
          ON CONFLICT (worker, kind) DO UPDATE SET slots = excluded.slots, used = excluded.used,
              lags = excluded.lags,
              free_since = CASE WHEN excluded.free_since IS NULL THEN NULL
                  ELSE coalesce(worker_slots.free_since, excluded.free_since) END)"_sql)
      .bind(worker, report.kind, report.slots, report.used,
            free ? std::optional(base::millis(tx.boot)) : std::nullopt, lags)
      .run();
}

}  // namespace

base::Status check_worker_name(const Tx& tx, const WorkerReport& report) {
  auto s = tx.db.prepare("SELECT host FROM workers WHERE name = ?1 AND host <> ?2 AND seen_boot > ?3");
  if (!s.bind(report.worker, report.host, base::millis(tx.boot - kWorkerTimeout)).step()) return {};
  return base::error(base::Code::kInvalidState, "the worker name " + report.worker + " is used on the host " +
                                                    s.text(0) + ": choose another (worker.name)");
}

void write_worker(Tx& tx, const WorkerReport& report) {
  // Deletes slots of another incarnation or boot, which say nothing about this one.
  tx.db
      .prepare(R"(
          DELETE FROM worker_slots
          WHERE worker = ?1 AND NOT EXISTS (SELECT 1 FROM workers WHERE name = ?1
              AND incarnation = ?2 AND boot = ?3))"_sql)
      .bind(report.worker, report.incarnation, boot_number(tx.boot_id))
      .run();
  tx.db
      .prepare(R"(
          INSERT INTO workers (name, incarnation, host, version, boot, seen_boot, seen_at)
          VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
          ON CONFLICT (name) DO UPDATE SET incarnation = excluded.incarnation, host = excluded.host,
              version = excluded.version, boot = excluded.boot, seen_boot = excluded.seen_boot,
              seen_at = excluded.seen_at,
              draining = CASE WHEN workers.incarnation = excluded.incarnation THEN workers.draining ELSE 0
              END)"_sql)
      .bind(report.worker, report.incarnation, report.host, report.version, boot_number(tx.boot_id),
            base::millis(tx.boot), base::millis(tx.now))
      .run();
  for (const SlotReport& slots : report.slots) write_slots(tx, report.worker, slots);
}

void remove_worker(Db& db, std::string_view worker) {
  db.prepare("DELETE FROM worker_slots WHERE worker = ?1").bind(worker).run();
  db.prepare("DELETE FROM workers WHERE name = ?1").bind(worker).run();
}

bool is_draining(Db& db, std::string_view worker) {
  auto s = db.prepare("SELECT draining FROM workers WHERE name = ?1");
  return s.bind(worker).step() && s.integer(0) != 0;
}

std::int64_t free_slots(const Tx& tx, schemas::Kind kind) {
  auto s = tx.db.prepare(R"(
      SELECT coalesce(sum(s.slots - s.used), 0)
      FROM workers AS w CROSS JOIN worker_slots AS s ON s.worker = w.name AND s.kind = ?1
      WHERE w.boot = ?2 AND w.seen_boot >= ?3 AND w.draining = 0)"_sql);
  s.bind(kind, boot_number(tx.boot_id), base::millis(tx.boot - kWorkerTimeout)).step();
  return s.integer(0);
}

bool has_long_free_slot(const Tx& tx, schemas::Kind kind) {
  auto s = tx.db.prepare(R"(
      SELECT 1 FROM workers AS w CROSS JOIN worker_slots AS s ON s.worker = w.name AND s.kind = ?1
      WHERE w.boot = ?2 AND w.seen_boot >= ?3 AND w.draining = 0 AND s.free_since <= ?4 LIMIT 1)"_sql);
  return s
      .bind(kind, boot_number(tx.boot_id), base::millis(tx.boot - kWorkerTimeout),
            base::millis(tx.boot - kFreeSlotAge))
      .step();
}

namespace {

base::Result<bool> drain_in(Tx& tx, const std::string& worker, const Caller& by) {
  auto s = tx.db.prepare("UPDATE workers SET draining = 1 WHERE name = ?1");
  s.bind(worker).run();
  if (s.changes() == 0) return base::error(base::Code::kNotFound, "There is no such worker");
  audit_operation(tx, by, "worker.drain", worker);
  return true;
}

}  // namespace

void WorkerDrains::drain(std::string worker, Callback<bool> done, Caller by) {
  const std::size_t bytes = worker.size();
  submit_write<bool>(
      store_.writer(), Writer::Priority::kInteractive, bytes,
      [worker = std::move(worker), by = std::move(by)](Tx& tx) { return drain_in(tx, worker, by); },
      std::move(done));
}

base::Result<std::vector<schemas::Kind>> served_kinds(Store& store) {
  std::vector<schemas::Kind> kinds;
  const base::Clock& clock = store.clock();
  auto status = store.readers().read([&](Db& db) {
    auto s = db.prepare(R"(
        SELECT DISTINCT s.kind FROM workers AS w CROSS JOIN worker_slots AS s ON s.worker = w.name
        WHERE w.draining = 0 AND w.boot = ?1 AND w.seen_boot > ?2 AND s.slots > 0)"_sql);
    s.bind(boot_number(clock.boot_id()), base::millis(clock.boot() - kWorkerTimeout));
    while (s.step()) kinds.push_back(static_cast<schemas::Kind>(s.integer(0)));
  });
  if (!status) return status.error();
  return kinds;
}

}  // namespace millrace::storage
