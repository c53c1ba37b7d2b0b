#include "storage/postgres/pipeline.h"

#include <exception>
#include <utility>

#include "storage/postgres/library.h"

namespace millrace::storage {
namespace {

constexpr int kBinary = 1;

}  // namespace

PostgresParameters::PostgresParameters(std::span<const PostgresValue> values)
    : formats(values.size(), kBinary) {
  for (const PostgresValue& each : values) {
    bytes.push_back(each.type == 0 ? nullptr : each.bytes.data());
    lengths.push_back(static_cast<int>(each.bytes.size()));
  }
}

PostgresPipeline::PostgresPipeline(pg_conn* connection) : connection_(connection) {
  is_complete_ = libpq().enter_pipeline(connection_) == 1;
}

void PostgresPipeline::prepare(const std::string& name, const std::string& sql,
                               std::span<const unsigned> types) {
  expect(libpq().send_prepare(connection_, name.c_str(), sql.c_str(), static_cast<int>(types.size()),
                              types.data()) == 1,
         {});
}

void PostgresPipeline::run(const std::string& name, std::span<const PostgresValue> values, Answer answer) {
  const PostgresParameters parameters(values);
  expect(libpq().send_prepared(connection_, name.c_str(), parameters.count(), parameters.bytes.data(),
                               parameters.lengths.data(), parameters.formats.data(), kBinary) == 1,
         std::move(answer));
}

void PostgresPipeline::expect(bool is_sent, Answer answer) {
  is_complete_ = is_complete_ && is_sent;
  if (is_sent) answers_.push_back(std::move(answer));
}

void PostgresPipeline::finish() {
  const bool is_sent = libpq().pipeline_sync(connection_) == 1;
  std::exception_ptr problem;
  for (const Answer& answer : answers_) {
    pg_result* result = libpq().get_result(connection_);
    if (problem || libpq().result_status(result) == PGRES_PIPELINE_ABORTED) {
      libpq().clear(result);
    } else {
      try {
        PostgresResult good(connection_, result);
        if (answer) answer(std::move(good));
      } catch (...) {
        problem = std::current_exception();
      }
    }
    while (pg_result* rest = libpq().get_result(connection_)) libpq().clear(rest);
  }
  if (is_sent) libpq().clear(libpq().get_result(connection_));
  const bool has_left = libpq().exit_pipeline(connection_) == 1;
  if (problem) std::rethrow_exception(problem);
  if (is_complete_ && is_sent && has_left) return;
  throw DbError{.cause = DbError::Cause::kUnreachable,
                .message = without_line_end(libpq().error_message(connection_))};
}

}  // namespace millrace::storage
