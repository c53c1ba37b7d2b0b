#include "storage/jobs/job_rows.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include <sqlite3.h>

#include "storage/db/columns.h"
#include "storage/db/multi_row_insert.h"
#include "storage/sql.h"

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

base::Error no_such_job() { return base::error(base::Code::kNotFound, "There is no such job"); }

bool is_removed(Db& db, const base::Uuid& id) {
  auto s = db.prepare("SELECT removed FROM jobs WHERE id = ?1");
  return s.bind(id).step() && s.integer(0) != 0;
}

namespace {

// The column `spared` is JobRow::free_attempts.
constexpr Sql kFindJob = R"(
      SELECT tenant, kind, status, priority, rerun, run_at, deadline, created_at, model, lane_key,
          spec, input, result, retry_of, parent_id, idempotency, child_index, children,
          children_left, epoch, published_at, attempt, spared, crashes, losses, token,
          cancel_requested, progress_done, progress_total, version, completed_at, key_id, bytes,
          call_nano, metadata, jumped_ms, schedule
      FROM jobs
      WHERE id = ?1)"_sql;

}  // namespace

void prefetch_job(Db& db, const base::Uuid& id) { db.prefetch(kFindJob, BlobView{id.bytes()}); }

std::optional<JobRow> find_job(Db& db, const base::Uuid& id) {
  auto s = db.prepare(kFindJob);
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
  row.free_attempts = c.small();
  row.crashes = c.small();
  row.losses = c.small();
  row.token = c.optional_uuid();
  row.cancel_requested = c.integer() != 0;
  row.progress_done = c.small();
  row.progress_total = c.small();
  row.version = c.integer();
  row.completed_at = c.optional_integer();
  row.key_id = c.text();
  row.bytes = c.integer();
  row.cost_max = c.optional_integer();
  row.metadata = c.text();
  row.jumped_ms = c.integer();
  row.schedule = static_cast<Schedule>(c.small());
  return row;
}

std::optional<JobRow> find_root(Db& db, std::string_view tenant, const schemas::JobId& job) {
  auto row = find_job(db, job.uuid);
  if (!row || row->kind != job.kind || row->tenant != tenant || row->parent) return std::nullopt;
  return row;
}

std::optional<base::WallTime> scheduled_time(const JobRow& row, std::chrono::milliseconds jumped) {
  if (!row.is_scheduled()) return std::nullopt;
  return base::wall_from(row.run_at) + (row.schedule == Schedule::kDelay ? jumped : jumped.zero());
}

void expect_one_change(const Statement& statement, std::string_view move) {
  statement.expect_one_change(move);
}

namespace {

std::optional<BlobView> blob_or_null(std::string_view bytes) {
  if (bytes.empty()) return std::nullopt;
  return BlobView{bytes};
}

// Uses OR ROLLBACK and calls no function per row (migration 0012). Then SQLite keeps no copies of pages for
// the case that a row cannot be written; such a failure ends the transaction.
struct AnyJobs {
  using Row = JobRow;
  static constexpr std::string_view kHead =
      "INSERT OR ROLLBACK INTO jobs (id, tenant, kind, status, priority, rerun, deadline, created_at, model, "
      "lane_key, spec, input, retry_of, idempotency, parent_id, child_index, published_at, run_at, key_id, "
      "bytes, call_nano, jumped_ms, metadata, schedule) "
      "VALUES ";
  static constexpr std::string_view kRow = "(?,?,?,0,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";

  static void bind(Statement& s, const JobRow& row) {
    s.bind(row.id, row.tenant, row.kind, row.priority, row.rerun, row.deadline, row.created_at, row.model,
           null_if_empty(row.lane_key), row.spec, row.input, row.retry_of, blob_or_null(row.idempotency),
           row.parent, row.child_index, row.published_at, row.run_at, null_if_empty(row.key_id), row.bytes,
           row.cost_max, row.jumped_ms, null_if_empty(row.metadata), row.schedule);
  }
};

// For jobs without special values. Values that are not bound cost the least.
struct PlainJobs {
  using Row = JobRow;
  static constexpr std::string_view kHead = AnyJobs::kHead;
  static constexpr std::string_view kRow =
      "(?,?,?,0,?,?,?,?,?,NULL,?,NULL,NULL,NULL,NULL,0,0,0,?,?,?,?,NULL,0)";

  static void bind(Statement& s, const JobRow& row) {
    s.bind(row.id, row.tenant, row.kind, row.priority, row.rerun, row.deadline, row.created_at, row.model,
           row.spec, null_if_empty(row.key_id), row.bytes, row.cost_max, row.jumped_ms);
  }
};

struct NumberedSpec {
  std::int64_t id;
  NewSpec spec;
};

struct Specs {
  using Row = NumberedSpec;
  static constexpr std::string_view kHead =
      "INSERT OR ROLLBACK INTO job_specs (id, traceparent, bytes, blob, hash, name) VALUES ";
  static constexpr std::string_view kRow = "(?,?,?,?,?,?)";

  static void bind(Statement& s, const NumberedSpec& row) {
    const NewSpec& spec = row.spec;
    s.bind(row.id, null_if_empty(spec.traceparent), inline_bytes(spec.bytes, spec.blob), spec.blob,
           inline_hash(spec.bytes, spec.blob), spec.blob ? null_if_empty(spec.name) : std::nullopt);
  }
};

bool is_plain(const JobRow& row) {
  const bool fresh = row.child_index == 0 && row.published_at == 0 && row.run_at == 0;
  return fresh && row.lane_key.empty() && row.idempotency.empty() && !row.input && !row.retry_of &&
         !row.parent && row.metadata.empty();
}

std::int64_t newest_spec(Db& db) {
  auto s = db.prepare_without_flush("SELECT max(id) FROM job_specs");
  s.step();
  return s.optional_integer(0).value_or(0);
}

class PendingJobs final : public PendingRows {
 public:
  void add(JobRow row) { jobs_.push_back(std::move(row)); }

  std::int64_t add(Db& db, const NewSpec& spec) {
    const std::int64_t before = specs_.empty() ? newest_spec(db) : specs_.back().id;
    specs_.push_back({before + 1, spec});
    return before + 1;
  }

  void write(Db& db) override {
    write_all(db, specs_, write_rows<Specs>);
    write_all(db, jobs_, write_jobs);
  }

 private:
  // Empties `rows`, also when it throws, and keeps its capacity.
  template <class Row, class Write>
  static void write_all(Db& db, std::vector<Row>& rows, Write&& write) {
    if (rows.empty()) return;
    std::vector<Row> taken = std::exchange(rows, {});
    write(db, taken);
    taken.clear();
    rows = std::move(taken);
  }

  static void write_jobs(Db& db, std::span<const JobRow> rows) {
    while (!rows.empty()) {
      const bool plain = is_plain(rows.front());
      const auto other =
          std::ranges::find_if(rows, [=](const JobRow& row) { return is_plain(row) != plain; });
      const auto alike = rows.first(static_cast<std::size_t>(other - rows.begin()));
      plain ? write_rows<PlainJobs>(db, alike) : write_rows<AnyJobs>(db, alike);
      rows = rows.subspan(alike.size());
    }
  }

  std::vector<NumberedSpec> specs_;
  std::vector<JobRow> jobs_;
};

}  // namespace

void insert_job(Db& db, JobRow row) { db.pending<PendingJobs>().add(std::move(row)); }

std::int64_t insert_job_spec(Db& db, const NewSpec& spec) { return db.pending<PendingJobs>().add(db, spec); }

void insert_secret(Db& db, const base::Uuid& job, std::string_view sealed) {
  db.prepare("INSERT INTO job_secrets (job, sealed) VALUES (?1, ?2)").bind(job, BlobView{sealed}).run();
}

std::string find_secret(Db& db, const base::Uuid& job) {
  auto s = db.prepare("SELECT sealed FROM job_secrets WHERE job = ?1");
  return s.bind(job).step() ? s.blob(0) : std::string();
}

void wipe_secret(Db& db, const base::Uuid& job) {
  db.prepare("DELETE FROM job_secrets WHERE job = ?1").bind(job).run();
}

void record_id_clock_skew(Db& db, const JobRow& row) {
  const std::int64_t skew = base::millis(row.id.time()) - row.created_at;
  if (skew <= kIdClockSkewMin.count()) return;
  auto s = db.prepare("UPDATE meta SET value = ?1 WHERE name = 'ids_ahead_ms' AND value < ?1");
  s.bind(skew).run();
}

std::chrono::milliseconds id_clock_skew(Db& db) {
  auto s = db.prepare("SELECT value FROM meta WHERE name = 'ids_ahead_ms'");
  const std::chrono::milliseconds noted(s.step() ? s.integer(0) : 0);
  return std::max(kIdClockSkewMin, noted);
}

}  // namespace millrace::storage
