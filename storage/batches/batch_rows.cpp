#include "storage/batches/batch_rows.h"

#include "storage/batches/batch_line.h"
#include "storage/batches/batches.h"
#include "storage/db/columns.h"
#include "storage/sql.h"
#include "storage/writer/writer.h"

namespace millrace::storage {

using schemas::Batch;
using schemas::BatchStatus;

std::optional<BatchRow> find_batch(Db& db, const base::Uuid& id) {
  auto s = db.prepare(R"(
      SELECT tenant, key_id, shape, status, endpoint, model, input_file, input, completion_window, metadata,
          errors, total, completed, failed, input_tokens, cached_tokens, output_tokens, reasoning_tokens,
          cost_max, cost, reserved, output_seconds, output_file, error_file, created_at, expires_at,
          started_at, finalizing_at, cancelling_at, ended_at, driver
      FROM batches WHERE id = ?1)"_sql);
  if (!s.bind(id).step()) return std::nullopt;
  BatchRow row;
  Batch& batch = row.batch;
  batch.id = id;
  row.tenant = s.text(0);
  row.key_id = s.text(1);
  batch.shape = static_cast<schemas::BatchShape>(s.integer(2));
  batch.status = static_cast<BatchStatus>(s.integer(3));
  batch.endpoint = s.text(4);
  batch.model = s.optional_text(5).value_or("");
  batch.input_file = s.optional_uuid(6);
  row.input = s.optional_integer(7);
  batch.window = s.text(8);
  batch.metadata = s.optional_text(9).value_or("");
  batch.errors = schemas::batch_errors_from(s.optional_text(10).value_or("[]"));
  batch.total = s.integer(11);
  batch.completed = s.integer(12);
  batch.failed = s.integer(13);
  batch.usage = {s.integer(14), s.integer(15), s.integer(16), s.integer(17)};
  batch.cost_max = s.optional_integer(18);
  batch.cost = s.integer(19);
  row.reserved = s.integer(20);
  if (const auto seconds = s.optional_integer(21)) batch.output_life = std::chrono::seconds(*seconds);
  if (batch.completed > 0) batch.output_file = s.optional_uuid(22);
  if (batch.failed > 0) batch.error_file = s.optional_uuid(23);
  batch.created_at = base::wall_from(s.integer(24));
  batch.expires_at = base::wall_from(s.integer(25));
  batch.started_at = optional_time(s.optional_integer(26));
  batch.finalizing_at = optional_time(s.optional_integer(27));
  batch.cancelling_at = optional_time(s.optional_integer(28));
  batch.ended_at = optional_time(s.optional_integer(29));
  row.driver = s.optional_uuid(30);
  return row;
}

int delete_lines(Db& db, const base::Uuid& batch, int limit) {
  auto s = db.prepare(R"(
      DELETE FROM batch_lines WHERE batch = ?1 AND line IN (
          SELECT line FROM batch_lines WHERE batch = ?1 ORDER BY line LIMIT ?2))"_sql);
  s.bind(batch, limit).run();
  return s.changes();
}

std::optional<base::Error> line_refusal(Tx& tx, const BatchLineRef& line,
                                        std::optional<schemas::NanoUsd> cost_max) {
  auto s = tx.db.prepare(R"(
      SELECT b.cost_max, b.cost + b.reserved FROM batch_lines AS l JOIN batches AS b ON b.id = l.batch
      WHERE l.batch = ?1 AND l.line = ?2 AND l.state = {line_pending} AND b.driver = ?3 AND b.status = {batch_in_progress})"_sql);
  if (!s.bind(line.batch, line.number, line.driver).step())
    return base::error(base::Code::kInvalidState, "The line was submitted before, or its batch has ended",
                       std::string(kBatchLineParam));
  const auto limit = s.optional_integer(0);
  if (!limit) return std::nullopt;
  if (!cost_max)
    return base::error(base::Code::kBudgetExceeded,
                       "The model has no price, so a batch with max_cost_usd may not use it", "max_cost_usd");
  if (s.integer(1) + *cost_max <= *limit) return std::nullopt;
  return base::error(base::Code::kBudgetExceeded, "The batch has reached its max_cost_usd", "max_cost_usd");
}

void take_line(Tx& tx, const BatchLineRef& line, const schemas::JobId& job,
               std::optional<schemas::NanoUsd> cost_max) {
  auto s = tx.db.prepare(R"(
      UPDATE batch_lines SET state = {line_submitted}, job = ?3, kind = ?4, cost_max = ?5 WHERE batch = ?1 AND line = ?2)"_sql);
  s.bind(line.batch, line.number, job.uuid, job.kind, cost_max).run();
  s.expect_one_change("submit a line");
  if (!cost_max || *cost_max == 0) return;
  tx.db.prepare("UPDATE batches SET reserved = reserved + ?2 WHERE id = ?1 AND cost_max IS NOT NULL")
      .bind(line.batch, *cost_max)
      .run();
}

}  // namespace millrace::storage
