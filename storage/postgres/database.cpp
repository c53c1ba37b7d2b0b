#include "storage/postgres/database.h"

#include <algorithm>
#include <charconv>
#include <thread>
#include <utility>

#include <sys/socket.h>

#include "platform/base/crypto.h"
#include "platform/base/log.h"
#include "platform/base/utf8.h"
#include "schemas/json/broken_json.h"
#include "storage/db/process_end.h"
#include "storage/postgres/answer.h"
#include "storage/postgres/connection.h"
#include "storage/postgres/library.h"
#include "storage/postgres/numbers.h"
#include "storage/postgres/statement.h"
#include "storage/postgres/translate.h"

namespace millrace::storage {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

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
    "SET lock_timeout = '10s'; SET statement_timeout = 0; SET client_min_messages = warning; SET jit = off;"
    "SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit')"
    " WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false)";
// All statements of writers have an index, and their plans must not depend on statistics, which are old while
// a table grows.
constexpr const char* kSetUpWriter =
    "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_hashjoin = off;"
    "SET enable_mergejoin = off; SET enable_bitmapscan = off; SET random_page_cost = 1.1";
constexpr std::string_view kWriterRow = "INSERT INTO writers (writer, group_seq, at) VALUES ($1, $2, now())";
constexpr std::string_view kEarlierWriterRow = "DELETE FROM writers WHERE writer = $1 AND group_seq = $2";
constexpr const char* kBeginWrite =
    "BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('millrace ' || current_schema(), 0));"
    "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";

// More columns of the statement that begins a transaction: which store this is, how many marks it has that
// its jobs were moved, and whether commits reach the disk.
constexpr const char* kStoreState =
    ", (SELECT encode(id, 'hex') FROM identity), (SELECT count(*) FROM meta WHERE name = 'moved_to_sqlite'),"
    " CASE WHEN current_setting('fsync') = 'on' AND current_setting('full_page_writes') = 'on' THEN 'on' END";

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
    " WHEN current_setting('server_encoding') NOT IN ('UTF8', 'SQL_ASCII')"
    " THEN 'the database has the encoding ' || current_setting('server_encoding')"
    " || ', which lacks characters; create it with ENCODING ''UTF8'' TEMPLATE template0'"
    " ELSE '' END";

std::int64_t steady_ms() {
  return std::chrono::duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

[[noreturn]] void end_with_store(const char* error, const char* advice) {
  if (!claim_end()) wait_for_end();
  end_process("store_changed", {{"error", error}, {"advice", advice}});
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

PostgresDb::PostgresDb(std::string url, ObserveTime observe)
    : url_(std::move(url)),
      observe_(std::move(observe)),
      begin_write_(kBeginWrite),
      writer_(base::random_bytes(kWriterBytes)) {
  try {
    check_postgres_url(url_);
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
  pg_conn* made = connect_postgres(url_);
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
  discard_kept();
  result_ids_.clear();  // a promoted standby may give them away again
  server_process_ = libpq().server_process(connection_);
  is_lost_ = false;
  if (answer_end_) answer_end_ = steady_clock::now() + kAnswerMax;
  check_server();
  run(kSetUp);
  if (observe_) run(kSetUpWriter);
}

// What makes an accepted job durable; after a failover it may be another server.
void PostgresDb::check_server() {
  const PostgresResult found = run(kDurability);
  const std::string wrong(found.bytes(0, 0));
  if (wrong.empty()) return;
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
PostgresResult PostgresDb::begin(const char* sql) {
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

PostgresResult PostgresDb::run(const char* sql) {
  return noting_loss([&] {
    return PostgresResult(
        connection_, answer_end_ ? answer(libpq().send(connection_, sql)) : libpq().exec(connection_, sql));
  });
}

pg_result* PostgresDb::answer(int is_sent) {
  return is_sent == 0 ? nullptr : await_answer(connection_, *answer_end_);
}

void PostgresDb::forget_transaction() {
  is_writing_ = false;
  queue_.clear();
  cache_.clear();
}

void PostgresDb::end_transaction() noexcept {
  busy_since_ms_ = 0;
  forget_transaction();
  read_end_.reset();
  if (is_lost_ || libpq().status(connection_) != CONNECTION_OK) return;  // the server has rolled back
  if (libpq().transaction_status(connection_) == PQTRANS_IDLE) return;
  try {
    run("ROLLBACK");
    if (std::exchange(has_unknown_statements_, false)) {
      ++connections_;
      run("DEALLOCATE ALL");
    }
  } catch (const DbError& e) {
    base::log_warn("store_rollback_failed", {{"error", e.message}});
  }
}

std::unique_ptr<PreparedStatement> PostgresDb::compile(std::string_view sql) {
  return std::make_unique<PostgresStatement>(*this, text_of(sql));
}

void PostgresDb::expect_schema(int version) {
  begin_write_ =
      std::string(kBeginWrite) + ", (SELECT version FROM schema_version), (SELECT offset_ms FROM clock)";
  expected_schema_ = version;
}

void PostgresDb::expect_store() {
  begin_write_ += kStoreState;
  const PostgresResult now = begin(begin_write_.c_str());
  expected_store_ = std::string(now.bytes(0, 3)) + std::string(now.bytes(0, 4));
  end_transaction();
}

void PostgresDb::check_store(const PostgresResult& begun) const {
  if (expected_schema_ && text_number(begun.bytes(0, 1).data()) != *expected_schema_)
    end_with_store("another version of millrace has changed the schema of the database",
                   "start that version on this host, too");
  if (!expected_store_) return;
  if (std::string(begun.bytes(0, 3)) + std::string(begun.bytes(0, 4)) != *expected_store_)
    end_with_store("the database at store.url has become another store, or its jobs were moved",
                   "start again; the start says what to do");
  if (begun.bytes(0, 5) != "on")
    throw DbError{.cause = DbError::Cause::kUnusable,
                  .message = "the server has fsync or full_page_writes off and could lose accepted jobs"};
}

void PostgresDb::begin_write() {
  ++group_;
  busy_since_ms_ = steady_ms();
  try {
    const PostgresResult begun = begin(begin_write_.c_str());
    try {
      check_store(begun);
    } catch (const DbError&) {
      end_transaction();  // the lock is free for others
      throw;
    }
    if (observe_)
      observe_({.time = base::wall_from(text_number(begun.bytes(0, 0).data())),
                .recorded = milliseconds(expected_schema_ ? text_number(begun.bytes(0, 2).data()) : 0),
                .took = milliseconds(steady_ms() - busy_since_ms_)});
    is_writing_ = true;
    has_written_ = false;
    note_begin();
  } catch (...) {
    busy_since_ms_ = 0;
    throw;
  }
}

void PostgresDb::commit() {
  write_pending();
  // A transaction that writes nothing is done if its COMMIT fails, too.
  if (has_written_ || !queue_.empty()) {
    const auto row_of = [this](std::int64_t group) -> Values {
      return {{.type = kBytea, .bytes = writer_},
              {.type = kInt8, .bytes = big_endian_bytes(static_cast<std::uint64_t>(group), 8)}};
    };
    queue_.add(text_of(kWriterRow), row_of(group_));
    if (last_group_ != 0) queue_.add(text_of(kEarlierWriterRow), row_of(last_group_));
    has_written_ = true;
    exchange(true, nullptr, {});
  }
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
  if (has_written_) last_group_ = group_;
  busy_since_ms_ = 0;
  forget_transaction();
}

std::string PostgresDb::writer_literal() const { return "'\\x" + base::hex(writer_) + "'"; }

// Asks until the server answers. A commit that was done is written again: what a server that was restarted
// shows as committed need not be on its standby yet.
bool PostgresDb::was_committed() {
  base::log_warn("store_commit_in_doubt", {{"advice", "waiting for PostgreSQL"}});
  const std::string own =
      " WHERE writer = " + writer_literal() + " AND group_seq = " + std::to_string(group_);
  const std::string read = "SELECT 1 FROM writers" + own;
  const std::string again = "UPDATE writers SET at = now()" + own;
  while (true) {
    try {
      connect();
      run(kBeginWrite);  // the old session has ended when the lock is free
      const PostgresResult row = run(read.c_str());
      const bool is_committed = row.rows() == 1;
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
  discard_kept();
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

void PostgresDb::script(std::string_view sql) {
  if (!queue_.empty()) exchange(true, nullptr, {});
  run(std::string(sql).c_str());
  has_written_ = true;
}

std::int64_t PostgresDb::last_row_id() {
  if (!queue_.empty()) exchange(true, nullptr, {});
  return text_number(run("SELECT lastval()").bytes(0, 0).data());
}

}  // namespace millrace::storage
