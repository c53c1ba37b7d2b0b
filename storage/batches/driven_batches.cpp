#include <algorithm>
#include <future>
#include <memory>
#include <utility>

#include "schemas/files/stored_file.h"
#include "schemas/json/json_text.h"
#include "storage/batches/batch_rows.h"
#include "storage/batches/batches.h"
#include "storage/blobs/blob_rows.h"
#include "storage/db/columns.h"
#include "storage/db/multi_row_insert.h"
#include "storage/files/files.h"
#include "storage/jobs/payload_rows.h"
#include "storage/sql.h"
#include "storage/tenants/quota_ledger.h"
#include "storage/webhooks/webhook_outbox.h"
#include "storage/writer/readers.h"

namespace millrace::storage {
namespace {

using schemas::BatchStatus;

constexpr std::size_t kDrivenRowBytes = 512, kLineRowBytes = 128;
constexpr int kLinesDroppedAtOnce = 500;

struct LineRow {
  base::Uuid batch;
  const DrivenBatches::Line* line = nullptr;
};

struct LineTable {
  using Row = LineRow;
  static constexpr std::string_view kHead =
      "INSERT INTO batch_lines (batch, line, custom_id, starts_at, bytes) VALUES ";
  static constexpr std::string_view kRow = "(?,?,?,?,?)";
  static void bind(Statement& s, const LineRow& row) {
    s.bind(row.batch, row.line->number, row.line->custom_id, row.line->starts_at, row.line->bytes);
  }
};

void add_output(Tx& tx, const base::Uuid& id, const DrivenBatches::LineEnd& end, std::int64_t sequence,
                std::optional<std::int64_t> blob) {
  const bool is_error = !end.has_succeeded;
  const auto bytes = inline_bytes(end.output.bytes, blob);
  tx.db
      .prepare(R"(
      INSERT INTO batch_outputs (batch, is_error, sequence, bytes, blob, hash)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6))"_sql)
      .bind(id, is_error, sequence, bytes, blob, inline_hash(end.output.bytes, blob))
      .run();
}

// The lines that have not ended before, with what was reserved for each.
struct EndedLines {
  std::int64_t completed = 0, failed = 0, reserved = 0;
  schemas::NanoUsd cost = 0;
  schemas::BatchUsage usage;
};

// True: the line had not ended.
bool mark_ended(Tx& tx, const base::Uuid& id, const DrivenBatches::LineEnd& end, EndedLines& sums) {
  const LineState state = end.has_succeeded ? LineState::kSucceeded : LineState::kFailed;
  auto s = tx.db.prepare(R"(
      UPDATE batch_lines SET state = ?3 WHERE batch = ?1 AND line = ?2 AND state < {first_ended}
      RETURNING coalesce(cost_max, 0))"_sql);
  if (!s.bind(id, end.number, state).step()) return false;
  const std::int64_t reserved = s.integer(0);
  s.run();
  sums.reserved += reserved;
  ++(end.has_succeeded ? sums.completed : sums.failed);
  sums.cost += end.cost.value_or(reserved);
  sums.usage.add(end.usage);
  return true;
}

void add_sums(Tx& tx, const base::Uuid& id, const EndedLines& sums) {
  tx.db
      .prepare(R"(
      UPDATE batches SET completed = completed + ?2, failed = failed + ?3, cost = cost + ?4,
          reserved = max(reserved - ?5, 0), input_tokens = input_tokens + ?6,
          cached_tokens = cached_tokens + ?7, output_tokens = output_tokens + ?8,
          reasoning_tokens = reasoning_tokens + ?9
      WHERE id = ?1)"_sql)
      .bind(id, sums.completed, sums.failed, sums.cost, sums.reserved, sums.usage.input_tokens,
            sums.usage.cached_tokens, sums.usage.output_tokens, sums.usage.reasoning_tokens)
      .run();
}

// The output of a batch becomes a file.
void add_output_file(Tx& tx, const BatchRow& row, BlobClaim& blob_claim, const std::optional<base::Uuid>& id,
                     const Staged& content, std::string_view kind) {
  if (!id || !content) return;
  const std::int64_t blob = blob_claim.take(tx.db, row.tenant, content);
  schemas::StoredFile file{.id = *id,
                           .purpose = "batch_output",
                           .name = schemas::batch_id(row.batch.id) + "_" + std::string(kind) + ".jsonl",
                           .bytes = content->ref().bytes,
                           .sha256_hex = content->ref().sha256_hex,
                           .created_at = tx.now,
                           .expires_at = {}};
  if (row.batch.output_life) file.expires_at = tx.now + *row.batch.output_life;
  insert_file(tx, {row.tenant, row.key_id}, file, blob);
}

// Webhooks get the end of the batch. REQUIRES: `status` is such an end.
void record_batch_end(Tx& tx, const BatchRow& row, BatchStatus status) {
  const std::string id = schemas::batch_id(row.batch.id);
  const std::string type = "batch." + std::string(schemas::name(status));
  const std::string data = schemas::JsonObject().member("id", id).finish();
  record_webhook_event(tx, {.tenant = row.tenant, .type = type, .subject = id, .data = data});
}

DrivenBatches::SubmittedLine submitted_line_at(const Statement& s) {
  return {.number = s.integer(0),
          .custom_id = s.text(1),
          .job = {static_cast<schemas::Kind>(s.integer(3)), s.uuid(2)},
          .is_lost = s.is_null(4),
          .has_succeeded = s.integer(4) == static_cast<std::int64_t>(schemas::JobStatus::kSucceeded)};
}

}  // namespace

// Runs `run(tx, row)` if this process still drives the batch, and it has one of these statuses.
template <class Run>
base::Status DrivenBatches::write(const base::Uuid& id, std::initializer_list<BatchStatus> expected, Run run,
                                  std::size_t bytes, Writer::Priority priority) {
  auto promise = std::make_shared<std::promise<base::Status>>();
  auto written = promise->get_future();
  store_.writer().submit(
      priority, kDrivenRowBytes + bytes,
      [id, driver = driver_, expected = std::vector(expected), run = std::move(run)](Tx& tx) -> base::Status {
        const auto row = find_batch(tx.db, id);
        if (!row || row->driver != driver)
          return base::error(base::Code::kInvalidState, "another process drives the batch");
        if (std::ranges::find(expected, row->batch.status) == expected.end())
          return base::error(base::Code::kInvalidState,
                             "the batch is " + std::string(schemas::name(row->batch.status)));
        return run(tx, *row);
      },
      [promise](const base::Status& status) { promise->set_value(status); });
  return written.get();
}

base::Result<std::vector<base::Uuid>> DrivenBatches::claim(int most) {
  std::vector<base::Uuid> ids;
  const auto operation = [&ids, most, driver = driver_](Tx& tx) -> base::Status {
    ids.clear();
    const std::int64_t now = base::millis(tx.steady()), until = now + kBatchLease.count();
    auto s = tx.db.prepare(R"(
        SELECT id, driver FROM batches
        WHERE status < {first_over} AND (driver IS NULL OR driver = ?1 OR driven_until < ?2)
        ORDER BY CASE WHEN driver = ?1 THEN 0 ELSE 1 END, id LIMIT ?3)"_sql);
    s.bind(driver, now, most);
    std::vector<base::Uuid> taken;
    while (s.step()) {
      ids.push_back(s.uuid(0));
      if (s.optional_uuid(1) != driver) taken.push_back(ids.back());
    }
    for (const base::Uuid& id : taken)
      tx.db.prepare("UPDATE batches SET driver = ?2 WHERE id = ?1").bind(id, driver).run();
    tx.db.prepare("UPDATE batches SET driven_until = ?2 WHERE driver = ?1 AND status < {first_over}"_sql)
        .bind(driver, until)
        .run();
    return {};
  };
  if (const base::Status claimed = write_and_wait(store_.writer(), operation); !claimed)
    return claimed.error();
  return ids;
}

base::Status DrivenBatches::renew() {
  return write_and_wait(store_.writer(), [driver = driver_](Tx& tx) -> base::Status {
    const std::int64_t until = base::millis(tx.steady()) + kBatchLease.count();
    tx.db.prepare("UPDATE batches SET driven_until = ?2 WHERE driver = ?1 AND status < {first_over}"_sql)
        .bind(driver, until)
        .run();
    return {};
  });
}

base::Result<bool> DrivenBatches::has_open() {
  return read(store_.readers(), [](Db& db) {
    return db.prepare("SELECT 1 FROM batches WHERE status < {first_over} LIMIT 1"_sql).step();
  });
}

base::Status DrivenBatches::release() {
  return write_and_wait(store_.writer(), [driver = driver_](Tx& tx) -> base::Status {
    tx.db.prepare("UPDATE batches SET driver = NULL WHERE status < {first_over} AND driver = ?1"_sql)
        .bind(driver)
        .run();
    return {};
  });
}

base::Result<DrivenBatches::Driven> DrivenBatches::find(const base::Uuid& id) {
  auto found = read(store_.readers(), [&](Db& db) -> std::optional<Driven> {
    auto row = find_batch(db, id);
    if (!row || row->driver != driver_) return std::nullopt;
    return Driven{.batch = std::move(row->batch),
                  .tenant = std::move(row->tenant),
                  .key_id = std::move(row->key_id),
                  .input = row->input ? find_blob(db, *row->input) : std::nullopt};
  });
  if (!found) return found.error();
  if (!*found) return no_such_batch();
  return **std::move(found);
}

base::Result<bool> DrivenBatches::drop_lines(const base::Uuid& id) {
  int dropped = 0;
  const base::Status done = write(id, {BatchStatus::kValidating, BatchStatus::kCancelling},
                                  [&dropped, id](Tx& tx, const BatchRow&) -> base::Status {
                                    dropped = delete_lines(tx.db, id, kLinesDroppedAtOnce);
                                    return {};
                                  });
  if (!done) return done.error();
  return dropped < kLinesDroppedAtOnce;
}

base::Status DrivenBatches::add_lines(const base::Uuid& id, const std::vector<Line>& lines) {
  return write(
      id, {BatchStatus::kValidating},
      [&lines, id](Tx& tx, const BatchRow&) -> base::Status {
        std::vector<LineRow> rows;
        rows.reserve(lines.size());
        for (const Line& line : lines) rows.push_back({id, &line});
        write_rows<LineTable>(tx.db, rows);
        return {};
      },
      lines.size() * kLineRowBytes, Writer::Priority::kNormal);
}

base::Status DrivenBatches::begin(const base::Uuid& id, std::int64_t total) {
  return write(id, {BatchStatus::kValidating}, [id, total](Tx& tx, const BatchRow&) -> base::Status {
    tx.db.prepare("UPDATE batches SET status = ?2, total = ?3, started_at = ?4 WHERE id = ?1")
        .bind(id, BatchStatus::kInProgress, total, base::millis(tx.now))
        .run();
    return {};
  });
}

base::Status DrivenBatches::fail(const base::Uuid& id, const std::vector<schemas::BatchError>& errors,
                                 std::int64_t total) {
  const std::string text = schemas::batch_errors_json(errors);
  return write(id, {BatchStatus::kValidating},
               [id, total, &text](Tx& tx, const BatchRow& row) -> base::Status {
                 record_batch_end(tx, row, BatchStatus::kFailed);
                 tx.db
                     .prepare(R"(
        UPDATE batches SET status = ?2, errors = ?3, total = ?4, ended_at = ?5, driver = NULL WHERE id = ?1)"_sql)
                     .bind(id, BatchStatus::kFailed, text, total, base::millis(tx.now))
                     .run();
                 return {};
               });
}

base::Status DrivenBatches::begin_cancel(const base::Uuid& id, const schemas::BatchError& why) {
  return write(id, {BatchStatus::kInProgress}, [id, &why](Tx& tx, const BatchRow& row) -> base::Status {
    std::vector<schemas::BatchError> errors = row.batch.errors;
    errors.push_back(why);
    const std::string text = schemas::batch_errors_json(errors);
    tx.db.prepare("UPDATE batches SET status = ?2, cancelling_at = ?3, errors = ?4 WHERE id = ?1")
        .bind(id, BatchStatus::kCancelling, base::millis(tx.now), text)
        .run();
    return {};
  });
}

base::Result<std::vector<DrivenBatches::Line>> DrivenBatches::pending(const base::Uuid& id,
                                                                      std::int64_t after, int limit) {
  return read(store_.readers(), [&](Db& db) {
    std::vector<Line> lines;
    auto s = db.prepare(R"(
        SELECT line, custom_id, starts_at, bytes FROM batch_lines
        WHERE batch = ?1 AND state = {line_pending} AND line > ?2 ORDER BY line LIMIT ?3)"_sql);
    s.bind(id, after, limit);
    while (s.step())
      lines.push_back(
          {.number = s.integer(0), .custom_id = s.text(1), .starts_at = s.integer(2), .bytes = s.integer(3)});
    return lines;
  });
}

base::Result<std::vector<DrivenBatches::SubmittedLine>> DrivenBatches::ended(const base::Uuid& id,
                                                                             int limit) {
  return read(store_.readers(), [&](Db& db) {
    std::vector<SubmittedLine> lines;
    auto s = db.prepare(R"(
        SELECT l.line, l.custom_id, l.job, l.kind, j.status FROM batch_lines AS l LEFT JOIN jobs AS j ON j.id = l.job
        WHERE l.batch = ?1 AND l.state = {line_submitted} AND (j.id IS NULL OR j.status >= {first_terminal})
        ORDER BY j.completed_at, l.line LIMIT ?2)"_sql);
    s.bind(id, limit);
    while (s.step()) lines.push_back(submitted_line_at(s));
    return lines;
  });
}

base::Result<std::vector<DrivenBatches::SubmittedLine>> DrivenBatches::open(const base::Uuid& id,
                                                                            std::int64_t after, int limit) {
  return read(store_.readers(), [&](Db& db) {
    std::vector<SubmittedLine> lines;
    auto s = db.prepare(R"(
        SELECT l.line, l.custom_id, l.job, l.kind, j.status FROM batch_lines AS l JOIN jobs AS j ON j.id = l.job
        WHERE l.batch = ?1 AND l.state = {line_submitted} AND l.line > ?2 AND j.status < {first_terminal}
        ORDER BY l.line LIMIT ?3)"_sql);
    s.bind(id, after, limit);
    while (s.step()) lines.push_back(submitted_line_at(s));
    return lines;
  });
}

base::Result<int> DrivenBatches::submitted_count(const base::Uuid& id, int most) {
  return read(store_.readers(), [&](Db& db) {
    auto s = db.prepare(R"(
        SELECT count(*) FROM (
            SELECT 1 FROM batch_lines WHERE batch = ?1 AND state = {line_submitted} LIMIT ?2) AS counted)"_sql);
    s.bind(id, most).step();
    return static_cast<int>(s.integer(0));
  });
}

base::Status DrivenBatches::end_lines(const base::Uuid& id, const std::vector<LineEnd>& ends) {
  BlobClaim blob_claim;
  std::size_t bytes = 0;
  for (const LineEnd& end : ends) bytes += end.output.bytes.size() + kLineRowBytes;
  base::Status done = write(
      id, {BatchStatus::kInProgress, BatchStatus::kCancelling},
      [&ends, &blob_claim, id](Tx& tx, const BatchRow& row) -> base::Status {
        blob_claim.begin();
        EndedLines sums;
        for (const LineEnd& end : ends) {
          if (!mark_ended(tx, id, end, sums)) continue;
          const std::int64_t sequence =
              end.has_succeeded ? row.batch.completed + sums.completed : row.batch.failed + sums.failed;
          std::optional<std::int64_t> blob;
          if (end.output.blob) blob = blob_claim.take(tx.db, row.tenant, end.output.blob);
          add_output(tx, id, end, sequence, blob);
        }
        add_sums(tx, id, sums);
        return {};
      },
      bytes);
  if (done) blob_claim.committed();
  return done;
}

base::Result<bool> DrivenBatches::finalize(const base::Uuid& id) {
  bool is_whole = false;
  const base::Status done =
      write(id, {BatchStatus::kInProgress}, [id, &is_whole](Tx& tx, const BatchRow& row) -> base::Status {
        is_whole = row.batch.completed + row.batch.failed == row.batch.total;
        if (!is_whole) return {};
        tx.db.prepare("UPDATE batches SET status = ?2, finalizing_at = ?3 WHERE id = ?1")
            .bind(id, BatchStatus::kFinalizing, base::millis(tx.now))
            .run();
        return {};
      });
  if (!done) return done.error();
  return is_whole;
}

base::Status DrivenBatches::complete(const base::Uuid& id, BatchStatus status, const Staged& output,
                                     const Staged& errors) {
  BlobClaim blob_claim;
  base::Status done =
      write(id,
            {BatchStatus::kValidating, BatchStatus::kInProgress, BatchStatus::kFinalizing,
             BatchStatus::kCancelling},
            [&, id, status](Tx& tx, const BatchRow& row) -> base::Status {
              blob_claim.begin();
              add_output_file(tx, row, blob_claim, row.batch.output_file, output, "output");
              add_output_file(tx, row, blob_claim, row.batch.error_file, errors, "error");
              record_batch_end(tx, row, status);
              tx.db.prepare("UPDATE batches SET status = ?2, ended_at = ?3, driver = NULL WHERE id = ?1")
                  .bind(id, status, base::millis(tx.now))
                  .run();
              return {};
            });
  if (done) blob_claim.committed();
  return done;
}

}  // namespace millrace::storage
