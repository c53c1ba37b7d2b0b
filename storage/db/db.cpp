#include "storage/db/db.h"

namespace millrace::storage {

Statement::~Statement() {
  prepared_->reset();
  std::unique_ptr<PreparedStatement>& kept = db_.cache_[key_];
  if (!kept) kept = std::move(prepared_);
}

bool Statement::step() { return prepared_->step(); }

void Statement::run() {
  while (step()) {
  }
}

int Statement::changes() const { return prepared_->changes(); }

void Statement::expect_one_change(std::string_view move) const { prepared_->expect_one_change(move); }

void PreparedStatement::expect_one_change(std::string_view move) {
  if (changes() == 1) return;
  throw DbError{.message = "the guard of the transition '" + std::string(move) + "' did not match"};
}

std::optional<std::int64_t> Statement::optional_integer(int column) const {
  if (is_null(column)) return std::nullopt;
  return integer(column);
}

std::optional<std::string> Statement::optional_text(int column) const {
  if (is_null(column)) return std::nullopt;
  return text(column);
}

base::Uuid Statement::uuid(int column) const {
  const auto id = base::Uuid::from_bytes(prepared_->bytes(column));
  if (!id) throw DbError{.message = "column " + std::to_string(column) + " is no id"};
  return *id;
}

std::optional<base::Uuid> Statement::optional_uuid(int column) const {
  if (is_null(column)) return std::nullopt;
  return uuid(column);
}

Statement Db::prepare(Sql sql) {
  write_pending();
  return prepare_without_flush(sql);
}

Statement Db::prepare_without_flush(Sql sql) {
  const char* key = sql.text().data();
  std::unique_ptr<PreparedStatement> prepared = std::move(cache_[key]);
  if (!prepared) prepared = compile(sql.text());
  return Statement(*this, key, std::move(prepared));
}

void Db::write_pending() {
  if (pending_) pending_->write(*this);
}

}  // namespace millrace::storage
