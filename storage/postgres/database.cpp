#include "storage/postgres/database.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include <sys/socket.h>

#include "platform/base/crypto.h"
#include "platform/base/log.h"
#include "platform/base/utf8.h"
#include "schemas/json/broken_json.h"
#include "storage/db/process_end.h"
#include "storage/postgres/answer.h"
#include "storage/postgres/library.h"
#include "storage/postgres/numbers.h"
#include "storage/postgres/translate.h"

namespace millrace::storage {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Type numbers of pg_type, which never change.
constexpr Oid kBool = 16, kBytea = 17, kInt8 = 20, kInt2 = 21, kInt4 = 23, kText = 25, kFloat8 = 701,
              kNumeric = 1700;
constexpr int kBinary = 1;
constexpr int kWriterBytes = 16;
constexpr milliseconds kReconnectPause{100};
// Of reads: how long an answer may take beyond the end of the read, and the longest pause after a connection
// that failed. The pause is not longer than the attempt was, so that a refused one costs nothing.
constexpr milliseconds kAnswerMax{500}, kConnectPauseMax{500};

// What every connection sets. Neither a stopped process nor a host that is cut off must hold the lock of the
// schema for long, or wait for it: the server notices a lost client within some 4 s, also while it waits.
constexpr const char* kSetUp =
    "SET default_transaction_isolation = 'read committed'; SET client_encoding = 'UTF8';"
    "SET standard_conforming_strings = on; SET idle_in_transaction_session_timeout = '5s';"
    "SET tcp_keepalives_idle = '2s'; SET tcp_keepalives_interval = '1s'; SET tcp_user_timeout = '3s';"
    "SET client_connection_check_interval = '1s';"
    "SET lock_timeout = '10s'; SET client_min_messages = warning";
constexpr const char* kBeginWrite =
    "BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('millrace ' || current_schema(), 0));"
    "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";

// Empty: accepted jobs are durable on this server.
constexpr const char* kDurability =
    "SELECT CASE WHEN pg_is_in_recovery() THEN 'the server is a standby'"
    " WHEN current_setting('fsync') = 'off'"
    " THEN 'the server has fsync = off and could lose accepted jobs; set it to on'"
    " WHEN current_setting('full_page_writes') = 'off'"
    " THEN 'the server has full_page_writes = off and could lose accepted jobs; set it to on'"
    " WHEN current_setting('synchronous_commit') = 'off'"
    " THEN 'synchronous_commit is off and accepted jobs could be lost; set it to on for this role'"
    " WHEN current_setting('synchronous_commit') = 'local' AND current_setting('synchronous_standby_names') "
    "<> ''"
    " THEN 'synchronous_commit is local, so a failover could lose accepted jobs; set it to on for this role'"
    " ELSE '' END";

std::int64_t steady_ms() {
  return std::chrono::duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

// libpq's own message can quote the password.
void check_url(const std::string& url) {
  char* error = nullptr;
  PQconninfoOption* options = libpq().parse_url(url.c_str(), &error);
  if (options == nullptr)
    throw DbError{.cause = DbError::Cause::kUnusable,
                  .message = "it cannot be parsed; percent-encode special characters of the password"};
  libpq().free_options(options);
}

std::string without_line_end(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

bool is_storable(std::string_view text) {
  return text.find('\0') == std::string_view::npos && base::is_utf8(text);
}

}  // namespace

std::string postgres_text(std::string_view text) {
  if (is_storable(text)) return std::string(text);
  std::string out;
  for (const char c : schemas::repair_utf8(text)) c == '\0' ? out.append("\xEF\xBF\xBD") : out.append(1, c);
  return out;
}

// The result of a statement. Throws the error that it is.
class PostgresDb::Result {
 public:
  Result() = default;
  Result(pg_conn* connection, PGresult* result) : result_(result) {
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
  ~Result() { libpq().clear(result_); }
  Result(Result&& other) noexcept : result_(std::exchange(other.result_, nullptr)) {}
  Result& operator=(Result&& other) noexcept {
    std::swap(result_, other.result_);
    return *this;
  }
  PGresult* get() const { return result_; }
  int rows() const { return result_ == nullptr ? 0 : libpq().rows(result_); }

 private:
  PGresult* result_ = nullptr;
};

class PostgresStatement final : public PreparedStatement {
 public:
  PostgresStatement(PostgresDb& db, std::string_view sql) : db_(db), sql_(postgres_sql(sql)) {}

  void bind(int parameter, std::int64_t value) override { set(parameter, kInt8, std::to_string(value)); }
  void bind(int parameter, double value) override {
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    set(parameter, kFloat8, std::string(text.data(), end));
  }
  void bind(int parameter, std::nullptr_t) override { at(parameter) = {}; }
  void bind(int parameter, std::string_view text) override {
    if (is_storable(text)) return set(parameter, kText, text);
    set(parameter, kText, postgres_text(text));
  }
  void bind(int parameter, const BlobView& view) override { set(parameter, kBytea, view.bytes); }

  bool step() override {
    if (!is_run_) run();
    if (++row_ < result_.rows()) return true;
    return false;
  }
  int changes() const override { return changes_; }

  std::int64_t integer(int column) const override {
    if (is_null(column)) return 0;
    const char* value = libpq().value(result_.get(), row_, column);
    switch (libpq().column_type(result_.get(), column)) {
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
        throw wrong_type(column);
    }
  }
  double real(int column) const override {
    if (is_null(column)) return 0;
    if (libpq().column_type(result_.get(), column) != kFloat8) return static_cast<double>(integer(column));
    return std::bit_cast<double>(big_endian<std::int64_t>(libpq().value(result_.get(), row_, column)));
  }
  std::string_view bytes(int column) const override {
    if (is_null(column)) return {};
    return {libpq().value(result_.get(), row_, column),
            static_cast<std::size_t>(libpq().length(result_.get(), row_, column))};
  }
  bool is_null(int column) const override { return libpq().is_null(result_.get(), row_, column) == 1; }
  void reset() noexcept override {
    result_ = {};
    row_ = -1;
    is_run_ = false;
    for (Parameter& each : parameters_) each = {};
  }

 private:
  struct Parameter {
    Oid type = 0;  // 0: NULL
    std::string own;
    std::string_view view;
    bool is_own = false;
    std::string_view value() const { return is_own ? std::string_view(own) : view; }
  };

  Parameter& at(int parameter) {
    const auto count = static_cast<std::size_t>(parameter);
    if (parameters_.size() < count) parameters_.resize(count);
    return parameters_[count - 1];
  }
  void set(int parameter, Oid type, std::string text) {
    at(parameter) = {.type = type, .own = std::move(text), .view = {}, .is_own = true};
  }
  void set(int parameter, Oid type, std::string_view view) {
    at(parameter) = {.type = type, .own = {}, .view = view, .is_own = false};
  }
  DbError wrong_type(int column) const {
    return {.message = "column " + std::to_string(column) + " of `" + sql_ + "` has an unexpected type"};
  }

  // NULL has no type here; PostgreSQL takes the one that the statement suggests.
  void prepare() {
    std::vector<Oid> types;
    types.reserve(parameters_.size());
    for (const Parameter& each : parameters_) types.push_back(each.type);
    name_ = "s" + std::to_string(++db_.statements_);
    const int count = static_cast<int>(types.size());
    pg_conn* at = db_.connection_;
    (void)db_.checked(
        db_.answer_end_
            ? db_.answer(libpq().send_prepare(at, name_.c_str(), sql_.c_str(), count, types.data()))
            : libpq().prepare(at, name_.c_str(), sql_.c_str(), count, types.data()));
    connection_ = db_.connections_;
  }

  void run() {
    if (db_.read_end_ && steady_clock::now() >= *db_.read_end_)
      throw DbError{.cause = DbError::Cause::kInterrupted, .message = "the time of the read is over"};
    if (connection_ != db_.connections_) prepare();
    std::vector<const char*> values;
    std::vector<int> lengths, formats;
    for (const Parameter& each : parameters_) {
      values.push_back(each.type == 0 ? nullptr : each.value().data() == nullptr ? "" : each.value().data());
      lengths.push_back(static_cast<int>(each.value().size()));
      formats.push_back(each.type == kBytea || each.type == kText ? kBinary : 0);
    }
    const int count = static_cast<int>(values.size());
    pg_conn* at = db_.connection_;
    result_ = db_.checked(db_.answer_end_
                              ? db_.answer(libpq().send_prepared(at, name_.c_str(), count, values.data(),
                                                                 lengths.data(), formats.data(), kBinary))
                              : libpq().exec_prepared(at, name_.c_str(), count, values.data(), lengths.data(),
                                                      formats.data(), kBinary));
    is_run_ = true;
    row_ = -1;
    const bool is_read =
        libpq().result_status(result_.get()) == PGRES_TUPLES_OK && sql_.starts_with("SELECT");
    changes_ = is_read ? 0 : static_cast<int>(text_number(libpq().changed_rows(result_.get())));
    db_.changes_ += changes_;
  }

  PostgresDb& db_;
  const std::string sql_;
  std::string name_;
  std::uint64_t connection_ = 0;  // on which it is prepared
  std::vector<Parameter> parameters_;
  PostgresDb::Result result_;
  int row_ = -1;
  int changes_ = 0;
  bool is_run_ = false;
};

PostgresDb::PostgresDb(std::string url, ObserveTime observe)
    : url_(std::move(url)),
      observe_(std::move(observe)),
      writer_(base::hex(base::random_bytes(kWriterBytes))) {
  try {
    check_url(url_);
    connect();
  } catch (...) {
    libpq().finish(connection_);
    throw;
  }
}

PostgresDb::~PostgresDb() {
  drop_statements();
  libpq().finish(connection_);
}

void PostgresDb::connect() {
  // Later keywords win: the URL may set the times, but neither a standby nor another name. If the server's
  // host is gone without a word, the connection is lost after tcp_user_timeout or the keepalives, and
  // connect_timeout passes before the next host is tried.
  constexpr std::array<const char*, 9> kKeywords = {
      "connect_timeout",      "tcp_user_timeout", "keepalives_idle",
      "keepalives_interval",  "keepalives_count", "dbname",
      "target_session_attrs", "application_name", nullptr};
  const std::array<const char*, 9> values = {"2",          "4000",       "2",        "1",    "3",
                                             url_.c_str(), "read-write", "millrace", nullptr};
  pg_conn* made = libpq().connect(kKeywords.data(), values.data(), 1);
  {
    const std::lock_guard lock(mutex_);
    libpq().finish(std::exchange(connection_, made));
  }
  if (libpq().status(connection_) != CONNECTION_OK)
    throw DbError{.cause = DbError::Cause::kUnreachable,
                  .message = without_line_end(libpq().error_message(connection_))};
  libpq().set_notice_processor(
      connection_,
      [](void* notices, const char* text) {
        ++*static_cast<int*>(notices);
        base::log_warn("store_notice", {{"text", without_line_end(text)}});
      },
      &notices_);
  ++connections_;
  server_process_ = libpq().server_process(connection_);
  is_lost_ = false;
  if (answer_end_) answer_end_ = steady_clock::now() + kAnswerMax;
  run(kSetUp);
  check_server();
}

// What makes an accepted job durable; after a failover it may be another server.
void PostgresDb::check_server() {
  const Result found = run(kDurability);
  const char* wrong = libpq().value(found.get(), 0, 0);
  if (*wrong == '\0') return;
  is_lost_ = true;
  throw DbError{.cause = DbError::Cause::kUnusable, .message = wrong};
}

void PostgresDb::stop_waiting() {
  is_stopping_ = true;
  const std::lock_guard lock(mutex_);
  if (const int socket = libpq().socket(connection_); socket >= 0) ::shutdown(socket, SHUT_RDWR);
}

milliseconds PostgresDb::busy() const {
  const std::int64_t since = busy_since_ms_;
  return since == 0 ? milliseconds(0) : milliseconds(steady_ms() - since);
}

// That a connection was lost while it was idle shows at its next use. A transaction that a failed call has
// left open is ended first.
PostgresDb::Result PostgresDb::begin(const char* sql) {
  if (libpq().status(connection_) == CONNECTION_OK && !is_lost_) {
    try {
      if (libpq().transaction_status(connection_) != PQTRANS_IDLE) run("ROLLBACK");
      return run(sql);
    } catch (const DbError& e) {
      const bool has_no_time = answer_end_ && steady_clock::now() >= *answer_end_;
      if (e.cause != DbError::Cause::kUnreachable || has_no_time) {
        end_transaction();
        throw;
      }
    }
  }
  if (is_stopping_) throw DbError{.cause = DbError::Cause::kUnreachable, .message = "the store is closing"};
  if (answer_end_ && steady_clock::now() < connect_again_)
    throw DbError{.cause = DbError::Cause::kUnreachable, .message = "PostgreSQL could not be reached"};
  const auto begun = steady_clock::now();
  try {
    connect();
  } catch (const DbError&) {
    const auto now = steady_clock::now();
    connect_again_ = now + std::min<steady_clock::duration>(kConnectPauseMax, now - begun);
    throw;
  }
  return run(sql);
}

PostgresDb::Result PostgresDb::run(const char* sql) {
  return checked(answer_end_ ? answer(libpq().send(connection_, sql)) : libpq().exec(connection_, sql));
}

pg_result* PostgresDb::answer(int is_sent) {
  if (is_sent == 0) return nullptr;
  try {
    return await_answer(connection_, *answer_end_);
  } catch (const DbError&) {
    is_lost_ = true;
    throw;
  }
}

PostgresDb::Result PostgresDb::checked(pg_result* result) {
  try {
    return Result(connection_, result);
  } catch (const DbError& e) {
    if (e.cause == DbError::Cause::kUnreachable) is_lost_ = true;
    throw;
  }
}

void PostgresDb::end_transaction() noexcept {
  busy_since_ms_ = 0;
  read_end_.reset();
  if (is_lost_ || libpq().status(connection_) != CONNECTION_OK) return;  // the server has rolled back
  if (libpq().transaction_status(connection_) == PQTRANS_IDLE) return;
  try {
    run("ROLLBACK");
  } catch (const DbError& e) {
    base::log_warn("store_rollback_failed", {{"error", e.message}});
  }
}

std::unique_ptr<PreparedStatement> PostgresDb::compile(std::string_view sql) {
  return std::make_unique<PostgresStatement>(*this, sql);
}

void PostgresDb::begin_write() {
  ++group_;
  busy_since_ms_ = steady_ms();
  try {
    const Result begun = begin(kBeginWrite);
    if (observe_) observe_(base::wall_from(text_number(libpq().value(begun.get(), 0, 0))));
  } catch (...) {
    busy_since_ms_ = 0;
    throw;
  }
}

void PostgresDb::commit() {
  write_pending();
  const std::string row =
      "INSERT INTO writers (writer, group_seq, at) VALUES ('\\x" + writer_ + "', " + std::to_string(group_) +
      ", now()) ON CONFLICT (writer) DO UPDATE SET group_seq = excluded.group_seq, at = now()";
  run(row.c_str());
  const int notices = notices_;
  bool is_in_doubt = false;
  try {
    run("COMMIT");
    is_in_doubt = notices_ != notices;  // such as a canceled wait for the standby
  } catch (const DbError& e) {
    if (e.cause != DbError::Cause::kUnreachable) throw;  // it was not done
    is_in_doubt = true;
  }
  if (is_in_doubt && !was_committed())
    throw DbError{.cause = DbError::Cause::kUnreachable,
                  .message = "the connection was lost before the COMMIT was done"};
  busy_since_ms_ = 0;
}

// Asks until the server answers. A commit that was done is written again: what a server that was restarted
// shows as committed need not be on its standby yet.
bool PostgresDb::was_committed() {
  base::log_warn("store_commit_in_doubt", {{"advice", "waiting for PostgreSQL"}});
  const std::string ask = "SELECT group_seq FROM writers WHERE writer = '\\x" + writer_ + "'";
  const std::string again = "UPDATE writers SET at = now() WHERE writer = '\\x" + writer_ + "'";
  while (true) {
    try {
      connect();
      run(kBeginWrite);  // the old session has ended when the lock is free
      const Result row = run(ask.c_str());
      const bool is_committed = row.rows() == 1 && text_number(libpq().value(row.get(), 0, 0)) == group_;
      const int notices = notices_;
      if (is_committed) run(again.c_str());
      run(is_committed ? "COMMIT" : "ROLLBACK");
      if (notices_ != notices) continue;
      base::log_info("store_commit_settled", {{"committed", is_committed}});
      return is_committed;
    } catch (const DbError& e) {
      if (is_stopping_) exit_after_commit_failure(e);
      std::this_thread::sleep_for(kReconnectPause);
    }
  }
}

void PostgresDb::roll_back() {
  discard_pending();
  end_transaction();
}

void PostgresDb::begin_read(steady_clock::time_point end) {
  read_end_.reset();
  const auto left = std::chrono::duration_cast<milliseconds>(end - steady_clock::now());
  const std::string text = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = " +
                           std::to_string(std::max<std::int64_t>(1, left.count()));
  answer_end_ = end + kAnswerMax;
  begin(text.c_str());
  read_end_ = end;
}

void PostgresDb::end_read() noexcept {
  answer_end_ = steady_clock::now() + kAnswerMax;
  end_transaction();
  answer_end_.reset();
}

void PostgresDb::script(std::string_view sql) { run(std::string(sql).c_str()); }

std::int64_t PostgresDb::last_row_id() {
  const Result last = run("SELECT lastval()");
  return text_number(libpq().value(last.get(), 0, 0));
}

}  // namespace millrace::storage
