#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "storage/db/db.h"

struct pg_conn;
struct pg_result;

namespace millrace::storage {

// The result of a statement.
class PostgresResult {
 public:
  PostgresResult() = default;
  // Throws the error that it is. `connection`: for the cause if there is no result.
  PostgresResult(pg_conn* connection, pg_result* result);
  ~PostgresResult();
  PostgresResult(PostgresResult&& other) noexcept;
  PostgresResult& operator=(PostgresResult&& other) noexcept;
  int rows() const;
  int columns() const;
  int changed_rows() const;
  bool is_null(int row, int column) const;
  std::string_view bytes(int row, int column) const;
  std::int64_t integer(int row, int column) const;  // NULL: 0; of a column of numbers, or text
  double real(int row, int column) const;           // NULL: 0

 private:
  pg_result* result_ = nullptr;
};

std::string without_line_end(std::string text);

}  // namespace millrace::storage
