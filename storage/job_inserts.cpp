#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "storage/columns.h"
#include "storage/job_rows.h"
#include "storage/many_rows.h"

namespace millrace::storage {
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
      "lane_key, spec, input, retry_of, idempotency, parent_id, child_index, published_at, run_at) VALUES ";
  static constexpr std::string_view kRow = "(?,?,?,0,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";

  static void bind(Statement& s, const JobRow& row) {
    s.bind(row.id, row.tenant, row.kind, row.priority, row.rerun, row.deadline, row.created_at, row.model,
           or_null(row.lane_key), row.spec, row.input, row.retry_of, blob_or_null(row.idempotency),
           row.parent, row.child_index, row.published_at, row.run_at);
  }
};

// For jobs without special values. Values that are not bound cost the least.
struct PlainJobs {
  using Row = JobRow;
  static constexpr std::string_view kHead = AnyJobs::kHead;
  static constexpr std::string_view kRow = "(?,?,?,0,?,?,?,?,?,NULL,?,NULL,NULL,NULL,NULL,0,0,0)";

  static void bind(Statement& s, const JobRow& row) {
    s.bind(row.id, row.tenant, row.kind, row.priority, row.rerun, row.deadline, row.created_at, row.model,
           row.spec);
  }
};

struct NumberedSpec {
  std::int64_t id;
  NewSpec spec;
};

struct Specs {
  using Row = NumberedSpec;
  static constexpr std::string_view kHead =
      "INSERT OR ROLLBACK INTO job_specs (id, traceparent, bytes, blob, hash) VALUES ";
  static constexpr std::string_view kRow = "(?,?,?,?,?)";

  static void bind(Statement& s, const NumberedSpec& row) {
    const NewSpec& spec = row.spec;
    s.bind(row.id, or_null(spec.traceparent), inline_bytes(spec.bytes, spec.blob), spec.blob,
           inline_hash(spec.bytes, spec.blob));
  }
};

bool is_plain(const JobRow& row) {
  const bool fresh = row.child_index == 0 && row.published_at == 0 && row.run_at == 0;
  return fresh && row.lane_key.empty() && row.idempotency.empty() && !row.input && !row.retry_of &&
         !row.parent;
}

std::int64_t newest_spec(Db& db) {
  auto s = db.prepare_apart("SELECT max(id) FROM job_specs");
  s.step();
  return s.optional_integer(0).value_or(0);
}

class PendingJobs final : public Pending {
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

}  // namespace millrace::storage
