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
constexpr std::string_view kAnyJobRow = "(?,?,?,0,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";
// Of a job that is nothing special: what costs least is what is not bound.
constexpr std::string_view kPlainJobRow = "(?,?,?,0,?,?,?,?,?,NULL,?,NULL,NULL,NULL,NULL,0,0,0)";

// INSERT with the values of `Rows` rows. OR ROLLBACK, and no function called for a row (migration 0012):
// SQLite keeps no copies of pages for the case that one of them cannot be written; that ends the transaction.
template <std::size_t Rows, bool Plain>
class JobInsert {
 public:
  static constexpr std::string_view kRow = Plain ? kPlainJobRow : kAnyJobRow;

  consteval JobInsert() {
    append(kJobInsertHead);
    for (std::size_t row = 0; row < Rows; ++row) {
      if (row > 0) append(",");
      append(kRow);
    }
  }

  char text[kJobInsertHead.size() +
            Rows * (kRow.size() + 1)]{};  // a comma between two, the zero behind the last

 private:
  consteval void append(std::string_view part) {
    std::copy(part.begin(), part.end(), text + size_);
    size_ += part.size();
  }
  std::size_t size_ = 0;
};

template <std::size_t Rows, bool Plain>
constexpr JobInsert<Rows, Plain> kJobInsert;

std::optional<BlobView> blob_or_null(const std::string& bytes) {
  if (bytes.empty()) return std::nullopt;
  return BlobView{bytes};
}

bool is_plain(const JobRow& row) {
  const bool fresh = row.child_index == 0 && row.published_at == 0 && row.run_at == 0;
  return fresh && row.lane_key.empty() && row.idempotency.empty() && !row.input && !row.retry_of &&
         !row.parent;
}

template <bool Plain>
void bind_row(Statement& s, const JobRow& row) {
  s.bind(row.id, row.tenant, row.kind, row.priority, row.rerun, row.deadline, row.created_at, row.model);
  if constexpr (Plain) {
    s.bind(row.spec);
  } else {
    s.bind(or_null(row.lane_key), row.spec, row.input, row.retry_of, blob_or_null(row.idempotency),
           row.parent, row.child_index, row.published_at, row.run_at);
  }
}

class PendingJobs final : public Pending {
 public:
  void add(JobRow row) { rows_.push_back(std::move(row)); }

  void write(Db& db) override {
    if (rows_.empty()) return;
    std::vector<JobRow> rows = std::exchange(rows_, {});
    const JobRow* const end = rows.data() + rows.size();
    for (const JobRow* at = rows.data(); at != end;) {
      const bool plain = is_plain(*at);
      const JobRow* const other =
          std::find_if(at, end, [=](const JobRow& row) { return is_plain(row) != plain; });
      plain ? write_alike<true>(db, at, other) : write_alike<false>(db, at, other);
    }
    rows.clear();
    rows_ = std::move(rows);  // for their room
  }

 private:
  template <bool Plain>
  static void write_alike(Db& db, const JobRow*& at, const JobRow* end) {
    write_by<16, Plain>(db, at, end);
    write_by<8, Plain>(db, at, end);
    write_by<4, Plain>(db, at, end);
    write_by<2, Plain>(db, at, end);
    write_by<1, Plain>(db, at, end);
  }

  template <std::size_t Rows, bool Plain>
  static void write_by(Db& db, const JobRow*& at, const JobRow* end) {
    while (end - at >= static_cast<std::ptrdiff_t>(Rows)) {
      auto s = db.prepare_apart(kJobInsert<Rows, Plain>.text);
      for (std::size_t i = 0; i < Rows; ++i) bind_row<Plain>(s, *at++);
      s.run();
    }
  }

  std::vector<JobRow> rows_;
};

}  // namespace

void insert_job(Db& db, JobRow row) { db.pending<PendingJobs>().add(std::move(row)); }

}  // namespace millrace::storage
