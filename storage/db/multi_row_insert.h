#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include "storage/db/db.h"

// Inserts many rows with one statement. A single-row statement opens the table and its indexes again for each
// row. Inside storage.
namespace millrace::storage {

inline constexpr std::size_t kRowsPerInsert = 32;

// INSERT with the values of `Rows` rows. A `Table` provides the text before the values (kHead), the text for
// one row (kRow), the row type (Row) and bind(Statement&, const Row&).
template <class Table, std::size_t Rows>
class MultiRowInsert {
 public:
  consteval MultiRowInsert() {
    append(Table::kHead);
    for (std::size_t row = 0; row < Rows; ++row) {
      if (row > 0) append(",");
      append(Table::kRow);
    }
  }

  // Commas separate the rows; the last byte is the terminating zero.
  char text[Table::kHead.size() + Rows * (Table::kRow.size() + 1)]{};

 private:
  consteval void append(std::string_view part) {
    std::copy(part.begin(), part.end(), text + size_);
    size_ += part.size();
  }
  std::size_t size_ = 0;
};

template <class Table, std::size_t Rows>
constexpr MultiRowInsert<Table, Rows> kMultiRowInsert;

template <class Table, std::size_t Rows>
void write_batch(Db& db, const typename Table::Row* rows) {
  auto s = db.prepare_without_flush(kMultiRowInsert<Table, Rows>.text);
  for (std::size_t i = 0; i < Rows; ++i) Table::bind(s, rows[i]);
  s.run();
}

// For PendingRows::write. Each row count has its own statement, prepared at first use.
template <class Table>
void write_rows(Db& db, std::span<const typename Table::Row> rows) {
  static constexpr auto kWriters = []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array{&write_batch<Table, I + 1>...};
  }(std::make_index_sequence<kRowsPerInsert>());
  const std::size_t most = db.has_round_trips() ? 1 : kRowsPerInsert;
  while (!rows.empty()) {
    const std::size_t count = std::min(rows.size(), most);
    kWriters[count - 1](db, rows.data());
    rows = rows.subspan(count);
  }
}

}  // namespace millrace::storage
