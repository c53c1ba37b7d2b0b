// How PostgresDb runs the statements of the role classes.

#include <algorithm>
#include <utility>

#include "storage/postgres/database.h"
#include "storage/postgres/library.h"
#include "storage/postgres/pipeline.h"
#include "storage/postgres/statement.h"
#include "storage/postgres/translate.h"

namespace millrace::storage {
namespace {

constexpr int kBinaryResult = 1;
constexpr int kIdsReserved = 512;
constexpr std::string_view kNextResults =
    "SELECT nextval(name) FROM (SELECT pg_get_serial_sequence('job_results', 'id')::regclass AS name OFFSET "
    "0) AS s,"
    " generate_series(1, ?1) ORDER BY 1 DESC";
// Bounds of the queue.
constexpr std::size_t kQueuedMax = 2048, kQueuedBytesMax = std::size_t{4} << 20;

std::string key_in(const PostgresText& text, const std::vector<PostgresValue>& values) {
  return text.form.key.empty() || values.empty() ? std::string() : values[0].bytes;
}

// The values behind the first one.
std::string rest_of(const std::vector<PostgresValue>& values) {
  std::string rest;
  for (std::size_t i = 1; i < values.size(); ++i)
    rest +=
        std::to_string(values[i].type) + ' ' + std::to_string(values[i].bytes.size()) + ' ' + values[i].bytes;
  return rest;
}

std::vector<unsigned> types_of(const std::vector<PostgresValue>& values) {
  std::vector<unsigned> types;
  types.reserve(values.size());
  for (const PostgresValue& each : values) types.push_back(each.type);
  return types;
}

// A statement has one type per parameter; NULL has any.
bool has_type_for(const std::vector<unsigned>& prepared, const std::vector<PostgresValue>& values) {
  if (prepared.size() != values.size()) return false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].type != 0 && values[i].type != prepared[i]) return false;
  }
  return true;
}

}  // namespace

PostgresDb::Text PostgresDb::text_of(std::string_view sql) {
  Text& known = texts_[std::string(sql)];
  if (!known) known = std::make_shared<PostgresText>(postgres_sql(sql));
  return known;
}

const PostgresDb::Text& PostgresDb::text_at(Sql sql) {
  Text& known = texts_by_address_[sql.text().data()];
  if (!known) known = text_of(sql.text());
  return known;
}

void PostgresDb::prefetch(Sql read, const BlobView& key) {
  if (is_writing_) cache_.prefetch(text_at(read), key.bytes, kBytea);
}

void PostgresDb::prefetch(Sql read, std::int64_t key) {
  if (is_writing_)
    cache_.prefetch(text_at(read), big_endian_bytes(static_cast<std::uint64_t>(key), 8), kInt8);
}

std::optional<std::int64_t> PostgresDb::next_result_id() {
  if (result_ids_.empty()) {
    const PostgresValue count{.type = kInt8, .bytes = big_endian_bytes(kIdsReserved, 8)};
    const PostgresResult ids = exchange(false, text_of(kNextResults), {count});
    for (int row = 0; row < ids.rows(); ++row) result_ids_.push_back(ids.integer(row, 0));
  }
  const std::int64_t id = result_ids_.back();
  result_ids_.pop_back();
  return id;
}

std::size_t PostgresDb::queue_write(const Text& text, const Values& values) {
  if (queue_.rows() >= kQueuedMax || queue_.bytes() >= kQueuedBytesMax) exchange(true, nullptr, {});
  cache_.drop(text->form, key_in(*text, values));
  queue_.add(text, values);
  return queue_.added();
}

void PostgresDb::take_back_write(std::size_t queued) {
  if (queued != queue_.added()) throw DbError{.message = "the changes of a write were asked for too late"};
  (void)queue_.take_last();
}

void PostgresDb::expect_one_change(std::size_t queued, std::string_view move) {
  if (queued != queue_.added()) throw DbError{.message = "the changes of a write were asked for too late"};
  queue_.expect_one_change(move);
}

std::optional<KeyedRows> PostgresDb::remembered(const Text& text, const Values& values) {
  const std::string& key = values[0].bytes;
  if (auto known = cache_.find(text, key, rest_of(values))) return known;
  if (values.size() > 1 || !cache_.is_pending(text, key)) return std::nullopt;
  exchange(false, nullptr, {});
  return cache_.find(text, key);
}

void PostgresDb::remember(const Text& text, const Values& values, const KeyedRows& rows) {
  cache_.put(text, values[0].bytes, rows, rest_of(values));
}

PostgresResult PostgresDb::run_now(const Text& text, const Values& values) {
  if (read_end_ && std::chrono::steady_clock::now() >= *read_end_)
    throw DbError{.cause = DbError::Cause::kInterrupted, .message = "the time of the read is over"};
  const bool is_read = text->form.kind == StatementForm::Kind::kRead;
  const std::string key = key_in(*text, values);
  PostgresResult result =
      exchange(is_read ? queue_.changes_rows_of(text->form, key) : !queue_.empty(), text, values);
  if (is_read) return result;
  has_written_ = true;
  changes_ += result.changed_rows();
  cache_.drop(text->form, key);
  return result;
}

PostgresResult PostgresDb::exchange(bool flush, const Text& text, const Values& values) {
  std::vector<ReadCache::Pending> pending = cache_.take_pending();
  flush = flush || std::ranges::any_of(pending, [&](const ReadCache::Pending& each) {
            return std::ranges::any_of(each.set, [&](const std::string& key) {
              return queue_.changes_rows_of(each.read->form, key);
            });
          });
  const std::vector<WriteQueue::Batch> batches = flush ? queue_.take_all() : std::vector<WriteQueue::Batch>();
  if (batches.empty() && pending.empty()) return text ? run_one(text, values) : PostgresResult();
  has_unknown_statements_ = true;
  PostgresResult answer;
  noting_loss([&] {
    PostgresPipeline pipeline(connection_);
    for (const WriteQueue::Batch& each : batches) send(pipeline, each);
    for (const ReadCache::Pending& each : pending) send(pipeline, each);
    if (text) {
      const std::string name =
          prepared_one(*text, values, [&](const auto&... what) { pipeline.prepare(what...); });
      pipeline.run(name, values, [&](PostgresResult result) { answer = std::move(result); });
    }
    pipeline.finish();
  });
  has_unknown_statements_ = false;
  return answer;
}

PostgresResult PostgresDb::run_one(const Text& text, const Values& values) {
  return noting_loss([&] {
    const std::string name = prepared_one(
        *text, values,
        [&](const std::string& made, const std::string& sql, const std::vector<unsigned>& types) {
          const int count = static_cast<int>(types.size());
          const PostgresResult prepared(
              connection_,
              answer_end_
                  ? answer(libpq().send_prepare(connection_, made.c_str(), sql.c_str(), count, types.data()))
                  : libpq().prepare(connection_, made.c_str(), sql.c_str(), count, types.data()));
        });
    const PostgresParameters bound(values);
    const auto run = [&](auto function) {
      return function(connection_, name.c_str(), bound.count(), bound.bytes.data(), bound.lengths.data(),
                      bound.formats.data(), kBinaryResult);
    };
    return PostgresResult(connection_,
                          answer_end_ ? answer(run(libpq().send_prepared)) : run(libpq().exec_prepared));
  });
}

// After an error it is unknown what was prepared.
void PostgresDb::renew(PostgresText& text) {
  if (text.connection == connections_) return;
  text.connection = connections_;
  text.one = {};
  text.multi_row.clear();
  text.many_keys.clear();
}

// NULL has no type here; PostgreSQL takes the one that the statement suggests.
template <class Prepare>
std::string PostgresDb::prepared_one(PostgresText& text, const Values& values, Prepare prepare) {
  renew(text);
  if (!text.one.name.empty() && has_type_for(text.one.types, values)) return text.one.name;
  std::vector<unsigned> types = types_of(values);
  for (std::size_t i = 0; i < std::min(types.size(), text.one.types.size()); ++i) {
    if (types[i] == 0) types[i] = text.one.types[i];
  }
  std::string name = new_name();
  prepare(name, text.sql, types);
  text.one = {std::move(types), name};
  return name;
}

void PostgresDb::send(PostgresPipeline& pipeline, const WriteQueue::Batch& batch) {
  PostgresText& text = *batch.text;
  const auto answer = [this, rows = batch.rows, move = batch.move](const PostgresResult& result) {
    const int changed = result.changed_rows();
    changes_ += changed;
    if (!move.empty() && static_cast<std::size_t>(changed) != rows)
      throw DbError{.message = "the guard of the transition '" + move + "' did not match"};
  };
  has_written_ = true;
  const auto prepare = [&](const auto&... what) { pipeline.prepare(what...); };
  if (batch.rows == 1) {
    Values values;
    for (PostgresArray column : batch.columns) values.push_back(column.take_last());
    const std::string name = prepared_one(text, values, prepare);
    return pipeline.run(name, values, answer);
  }
  renew(text);
  Values arrays;
  std::vector<unsigned> types, array_types;
  for (const PostgresArray& column : batch.columns) {
    types.push_back(column.type());
    if (column.type() == 0) continue;
    array_types.push_back(array_type(column.type()));
    arrays.push_back({.type = array_types.back(), .bytes = column.binary()});
  }
  array_types.push_back(kInt8);
  arrays.push_back({.type = kInt8, .bytes = big_endian_bytes(batch.rows, 8)});
  auto known = std::ranges::find(text.multi_row, types, &PostgresText::Prepared::types);
  if (known == text.multi_row.end()) {
    const std::string name = new_name();
    pipeline.prepare(name, multi_row_sql(text.sql, types), array_types);
    known = text.multi_row.insert(known, {types, name});
  }
  pipeline.run(known->name, arrays, answer);
}

void PostgresDb::send(PostgresPipeline& pipeline, const ReadCache::Pending& pending) {
  PostgresText& text = *pending.read;
  renew(text);
  const unsigned type = array_type(pending.keys.type());
  if (text.many_keys.empty()) {
    text.many_keys = new_name();
    pipeline.prepare(text.many_keys, many_keys_sql(text.sql, text.form), std::vector<unsigned>{type});
  }
  const Values keys = {{.type = type, .bytes = pending.keys.binary()}};
  pipeline.run(text.many_keys, keys,
               [this, &pending](PostgresResult found) { cache_.put_all(pending, std::move(found)); });
}

}  // namespace millrace::storage
