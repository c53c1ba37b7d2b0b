#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "storage/columns.h"
#include "storage/job_rows.h"

// Many rows by one statement: a statement of its own opens the table and its thirteen indexes for each row.
namespace millrace::storage {
namespace {

constexpr std::string_view kJobInsertHead =
    "INSERT OR ROLLBACK INTO jobs (id, tenant, kind, status, priority, rerun, deadline, created_at, model, "
    "lane_key, spec, input, retry_of, idempotency, parent_id, child_index, published_at, run_at) VALUES ";
constexpr std::string_view kJobInsertRow = "(?,?,?,0,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";

// INSERT with the values of `Rows` rows. OR ROLLBACK: SQLite keeps no copies of pages for the case that one
// of them cannot be written; that ends the transaction.
template <std::size_t Rows>
class JobInsert {
 public:
  consteval JobInsert() {
    append(kJobInsertHead);
    for (std::size_t row = 0; row < Rows; ++row) {
      if (row > 0) append(",");
      append(kJobInsertRow);
    }
  }

  char text[kJobInsertHead.size() +
            Rows * (kJobInsertRow.size() + 1)]{};  // a comma between two, the zero behind the last

 private:
  consteval void append(std::string_view part) {
    std::copy(part.begin(), part.end(), text + size_);
    size_ += part.size();
  }
  std::size_t size_ = 0;
};

template <std::size_t Rows>
constexpr JobInsert<Rows> kJobInsert;

std::optional<BlobView> blob_or_null(const std::string& bytes) {
  if (bytes.empty()) return std::nullopt;
  return BlobView{bytes};
}

void bind_row(Statement& s, const JobRow& row) {
  s.bind(row.id, row.tenant, row.kind, row.priority, row.rerun, row.deadline, row.created_at, row.model,
         or_null(row.lane_key), row.spec, row.input, row.retry_of, blob_or_null(row.idempotency), row.parent,
         row.child_index, row.published_at, row.run_at);
}

class PendingJobs final : public Pending {
 public:
  void add(JobRow row) { rows_.push_back(std::move(row)); }

  void write(Db& db) override {
    if (rows_.empty()) return;
    const std::vector<JobRow> rows = std::exchange(rows_, {});
    const JobRow* at = rows.data();
    const JobRow* const end = at + rows.size();
    write_by<16>(db, at, end);
    write_by<8>(db, at, end);
    write_by<4>(db, at, end);
    write_by<2>(db, at, end);
    write_by<1>(db, at, end);
  }

 private:
  template <std::size_t Rows>
  static void write_by(Db& db, const JobRow*& at, const JobRow* end) {
    while (end - at >= static_cast<std::ptrdiff_t>(Rows)) {
      auto s = db.prepare_apart(kJobInsert<Rows>.text);
      for (std::size_t i = 0; i < Rows; ++i) bind_row(s, *at++);
      s.run();
    }
  }

  std::vector<JobRow> rows_;
};

}  // namespace

void insert_job(Db& db, JobRow row) { db.pending<PendingJobs>().add(std::move(row)); }

}  // namespace millrace::storage
