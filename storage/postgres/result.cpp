#include "storage/postgres/result.h"

#include <bit>
#include <utility>

#include "storage/postgres/answer.h"
#include "storage/postgres/library.h"
#include "storage/postgres/numbers.h"
#include "storage/postgres/statement_form.h"

namespace millrace::storage {
namespace {

// Type numbers of pg_type, which never change.
constexpr Oid kBool = 16, kInt2 = 21, kInt4 = 23, kNumeric = 1700;

}  // namespace

std::string without_line_end(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

PostgresResult::PostgresResult(pg_conn* connection, pg_result* result) : result_(result) {
  const ExecStatusType status = libpq().result_status(result);
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return;
  // The details name rows of tenants.
  const char* state = libpq().result_error_field(result, PG_DIAG_SQLSTATE);
  const char* primary = libpq().result_error_field(result, PG_DIAG_MESSAGE_PRIMARY);
  if (state != nullptr && primary != nullptr) {
    DbError error{.cause = postgres_cause(state),
                  .message = std::string(primary) + " (SQLSTATE " + state + ")"};
    libpq().clear(result);
    throw error;
  }
  DbError error{.cause = postgres_cause(""),
                .message = without_line_end(result == nullptr ? libpq().error_message(connection)
                                                              : libpq().result_error_message(result))};
  libpq().clear(result);
  throw error;
}

PostgresResult::~PostgresResult() { libpq().clear(result_); }

PostgresResult::PostgresResult(PostgresResult&& other) noexcept
    : result_(std::exchange(other.result_, nullptr)) {}

PostgresResult& PostgresResult::operator=(PostgresResult&& other) noexcept {
  std::swap(result_, other.result_);
  return *this;
}

int PostgresResult::rows() const { return result_ == nullptr ? 0 : libpq().rows(result_); }

int PostgresResult::columns() const { return libpq().columns(result_); }

int PostgresResult::changed_rows() const {
  return result_ == nullptr ? 0 : static_cast<int>(text_number(libpq().changed_rows(result_)));
}

bool PostgresResult::is_null(int row, int column) const { return libpq().is_null(result_, row, column) == 1; }

std::string_view PostgresResult::bytes(int row, int column) const {
  if (is_null(row, column)) return {};
  return {libpq().value(result_, row, column),
          static_cast<std::size_t>(libpq().length(result_, row, column))};
}

std::int64_t PostgresResult::integer(int row, int column) const {
  if (is_null(row, column)) return 0;
  const char* value = libpq().value(result_, row, column);
  switch (libpq().column_type(result_, column)) {
    case kInt8:
      return big_endian<std::int64_t>(value);
    case kInt4:
      return big_endian<std::int32_t>(value);
    case kInt2:
      return big_endian<std::int16_t>(value);
    case kBool:
      return value[0];
    case kNumeric:
      return whole_number(value);
    case kText:
      return text_number(value);
    default:
      throw DbError{.message = "column " + std::to_string(column) + " has an unexpected type"};
  }
}

double PostgresResult::real(int row, int column) const {
  if (is_null(row, column)) return 0;
  if (libpq().column_type(result_, column) != kFloat8) return static_cast<double>(integer(row, column));
  return std::bit_cast<double>(big_endian<std::int64_t>(libpq().value(result_, row, column)));
}

}  // namespace millrace::storage
