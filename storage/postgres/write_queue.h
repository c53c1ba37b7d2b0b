#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "storage/postgres/statement_form.h"
#include "storage/postgres/values.h"

namespace millrace::storage {

// A text in PostgreSQL's form and what is prepared of it on a connection.
struct PostgresText {
  struct Prepared {
    std::vector<unsigned> types;  // of the values of one row
    std::string name;
  };
  explicit PostgresText(std::string text) : sql(std::move(text)), form(form_of(sql)) {}

  const std::string sql;
  const StatementForm form;
  std::uint64_t connection = 0;  // the one that the following are prepared on
  Prepared one{};
  std::vector<Prepared> multi_row{};
  std::string many_keys{};  // a name
};

// Writes of a transaction whose results nothing has needed yet. A write joins an earlier one with the same
// text to one statement for both, unless one between them touches the same rows. It may then run before a
// write of other rows that came first; what the transaction sees and commits is the same.
class WriteQueue {
 public:
  struct Batch {
    std::shared_ptr<PostgresText> text;
    std::vector<PostgresArray> columns{};
    std::size_t rows = 0;
    std::unordered_set<std::string> keys{};
    std::string move{};  // the transition that changes one row per row of the batch; empty: unknown
  };

  bool empty() const { return batches_.empty(); }
  // Counts writes.
  std::size_t added() const { return added_; }
  void add(const std::shared_ptr<PostgresText>& text, const std::vector<PostgresValue>& values);
  // The write that was added last changes one row.
  void expect_one_change(std::string_view move) { batches_[last_].move = move; }
  // Takes back the write that was added last.
  std::vector<PostgresValue> take_last();
  // Whether one of the writes changes rows that this read may see. `key`: of the read.
  bool changes_rows_of(const StatementForm& read, std::string_view key) const;
  std::vector<Batch> take_all();
  void clear() { (void)take_all(); }
  std::size_t rows() const { return rows_; }
  std::size_t bytes() const { return bytes_; }  // about

 private:
  std::vector<Batch> batches_;
  std::size_t last_ = 0;  // the batch of the last write
  std::size_t added_ = 0, rows_ = 0, bytes_ = 0;
};

}  // namespace millrace::storage
