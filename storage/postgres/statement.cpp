#include "storage/postgres/statement.h"

#include <bit>
#include <utility>

namespace millrace::storage {

void PostgresStatement::set(int parameter, PostgresValue value) {
  values_.at(static_cast<std::size_t>(parameter) - 1) = std::move(value);
}

void PostgresStatement::bind(int parameter, std::int64_t value) {
  set(parameter, {.type = kInt8, .bytes = big_endian_bytes(static_cast<std::uint64_t>(value), 8)});
}

void PostgresStatement::bind(int parameter, double value) {
  set(parameter, {.type = kFloat8, .bytes = big_endian_bytes(std::bit_cast<std::uint64_t>(value), 8)});
}

void PostgresStatement::bind(int parameter, std::string_view text) {
  set(parameter, {.type = kText, .bytes = postgres_text(text)});
}

void PostgresStatement::bind(int parameter, const BlobView& view) {
  set(parameter, {.type = kBytea, .bytes = std::string(view.bytes)});
}

bool PostgresStatement::step() {
  if (!is_run_) run();
  return ++row_ < rows_.count;
}

// A write is queued only within a writing transaction, and a read is remembered only there.
void PostgresStatement::run() {
  const StatementForm& form = text_->form;
  is_run_ = true;
  row_ = -1;
  changes_ = 0;
  if (!db_.is_writing()) return run_now();
  if (form.kind == StatementForm::Kind::kWrite) {
    queued_ = db_.queue_write(text_, values_);
    return;
  }
  const bool is_by_key = form.kind == StatementForm::Kind::kRead && !form.key.empty() && !values_.empty();
  if (!is_by_key) return run_now();
  if (auto known = db_.remembered(text_, values_)) {
    rows_ = std::move(*known);
    return;
  }
  run_now();
  db_.remember(text_, values_, rows_);
}

void PostgresStatement::run_now() {
  auto result = std::make_shared<const PostgresResult>(db_.run_now(text_, values_));
  const bool is_read = text_->form.kind == StatementForm::Kind::kRead;
  changes_ = is_read ? 0 : result->changed_rows();
  const int rows = result->rows();
  rows_ = {std::move(result), 0, rows};
}

// The answer is needed now. Others may have been joined with it: it is taken back and done alone.
int PostgresStatement::changes() {
  if (queued_ != 0) {
    db_.take_back_write(std::exchange(queued_, 0));
    run_now();
  }
  return changes_;
}

void PostgresStatement::expect_one_change(std::string_view move) {
  if (queued_ != 0) return db_.expect_one_change(queued_, move);
  PreparedStatement::expect_one_change(move);
}

std::int64_t PostgresStatement::integer(int column) const {
  return rows_.result->integer(rows_.first + row_, column);
}

double PostgresStatement::real(int column) const { return rows_.result->real(rows_.first + row_, column); }

std::string_view PostgresStatement::bytes(int column) const {
  return rows_.result->bytes(rows_.first + row_, column);
}

bool PostgresStatement::is_null(int column) const {
  return rows_.result->is_null(rows_.first + row_, column);
}

void PostgresStatement::reset() noexcept {
  rows_ = {};
  row_ = -1;
  is_run_ = false;
  queued_ = 0;
  for (PostgresValue& each : values_) each = {};
}

}  // namespace millrace::storage
