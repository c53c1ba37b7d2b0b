#include "storage/job_rows.h"

#include <sqlite3.h>

#include "storage/columns.h"

namespace millrace::storage {
namespace {

// Reads columns in order.
class Columns {
 public:
  explicit Columns(const Statement& s) : s_(s) {}
  std::int64_t integer() { return s_.integer(next_++); }
  int small() { return static_cast<int>(s_.integer(next_++)); }
  std::optional<std::int64_t> optional_integer() { return s_.optional_integer(next_++); }
  std::optional<base::Uuid> optional_uuid() { return s_.optional_uuid(next_++); }
  std::string text() { return s_.text(next_++); }
  std::string blob() { return s_.blob(next_++); }

 private:
  const Statement& s_;
  int next_ = 0;
};

}  // namespace

std::optional<JobRow> find_job(Db& db, const base::Uuid& id) {
  auto s = db.prepare(
      "SELECT tenant, kind, status, priority, rerun, run_at, deadline, created_at, model, lane_key, spec, "
      "input, "
      "result, retry_of, parent_id, idempotency, child_index, children, children_left, epoch, published_at, "
      "attempt, spared, crashes, losses, token, cancel_requested, progress_done, progress_total, version, "
      "completed_at FROM jobs WHERE id = ?1");
  if (!s.bind(id).step()) return std::nullopt;
  Columns c(s);
  JobRow row;
  row.id = id;
  row.tenant = c.text();
  row.kind = static_cast<schemas::Kind>(c.small());
  row.status = static_cast<schemas::JobStatus>(c.small());
  row.priority = c.small();
  row.rerun = static_cast<schemas::Rerun>(c.small());
  row.run_at = c.integer();
  row.deadline = c.integer();
  row.created_at = c.integer();
  row.model = c.text();
  row.lane_key = c.text();
  row.spec = c.optional_integer();
  row.input = c.optional_integer();
  row.result = c.optional_integer();
  row.retry_of = c.optional_uuid();
  row.parent = c.optional_uuid();
  row.idempotency = c.blob();
  row.child_index = c.small();
  row.children = c.small();
  row.children_left = c.small();
  row.epoch = c.integer();
  row.published_at = c.integer();
  row.attempt = c.small();
  row.spared = c.small();
  row.crashes = c.small();
  row.losses = c.small();
  row.token = c.optional_uuid();
  row.cancel_requested = c.integer() != 0;
  row.progress_done = c.small();
  row.progress_total = c.small();
  row.version = c.integer();
  row.completed_at = c.optional_integer();
  return row;
}

std::optional<JobRow> find_root(Db& db, std::string_view tenant, const schemas::JobId& job) {
  auto row = find_job(db, job.uuid);
  if (!row || row->kind != job.kind || row->tenant != tenant || row->parent) return std::nullopt;
  return row;
}

void expect_one_change(const Statement& statement, std::string_view move) {
  if (statement.changes() == 1) return;
  throw SqliteError{SQLITE_INTERNAL, "the guard of the move '" + std::string(move) + "' did not hold"};
}

}  // namespace millrace::storage
