#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "platform/base/clock.h"
#include "storage/db/db.h"
#include "storage/postgres/clock.h"
#include "storage/postgres/read_cache.h"
#include "storage/postgres/result.h"
#include "storage/postgres/write_queue.h"

namespace millrace::storage {

class PostgresPipeline;

// `text` as PostgreSQL can store it: NUL and invalid UTF-8 become U+FFFD.
std::string postgres_text(std::string_view text);

// A connection to PostgreSQL. The texts of the role classes are translated (translate.h); a statement is
// prepared at its first run on a connection. Text is stored as postgres_text. After a lost connection, the
// next begin_write or begin_read connects again. Transactions are READ COMMITTED. A writing one holds an
// advisory lock of the schema from its beginning to its end, so that all writers of a store write in turn, as
// on SQLite. A statement costs a round trip, so a writing transaction queues the writes whose result is not
// needed (WriteQueue) and sends them together, at the latest before a read that may depend on them and before
// its end; an error of a queued write fails the transaction there. It remembers what its
// reads by key found (ReadCache). A read ends soon after its end even if the server does not answer; a write
// waits.
class PostgresDb final : public Db {
 public:
  // Gets the server's clock at the beginning of each writing transaction, when its lock is held.
  using ObserveTime = std::function<void(const PostgresClock::Reading&)>;
  // Connects. `url`: a connection string or URL of libpq. Throws DbError.
  explicit PostgresDb(std::string url, ObserveTime observe = {});
  ~PostgresDb() override;

  // From now on, the process ends at the beginning of a writing transaction if the schema has another
  // version: a newer program changed it while this one was stopped or cut off.
  void expect_schema(int version);
  // The same if it is another store than now, or its jobs have been moved to another database: what answers
  // at the URL may be exchanged while this process is stopped or cut off. Throws kUnusable if the server no
  // longer syncs commits. REQUIRES: expect_schema, and the store has an identity.
  void expect_store();
  void begin_write() override;
  // If the connection is lost meanwhile, waits until the server tells whether the transaction was committed.
  void commit() override;
  void roll_back() override;
  // Ends a wait for the server: the connection is closed, and a commit that is then in doubt ends the
  // process. Any thread.
  void stop_waiting();
  void begin_read(std::chrono::steady_clock::time_point end) override;
  void end_read() noexcept override;
  void script(std::string_view sql) override;
  std::unique_ptr<PreparedStatement> compile(std::string_view sql) override;
  std::int64_t last_row_id() override;
  std::int64_t changes() const override { return changes_; }
  bool has_round_trips() const override { return true; }
  void prefetch(Sql read, const BlobView& key) override;
  void prefetch(Sql read, std::int64_t key) override;
  std::optional<std::int64_t> next_result_id() override;
  // How long the present writing transaction has lasted; 0: there is none. Any thread.
  std::chrono::milliseconds busy() const;
  // The server's process of this connection; 0: there is none. Any thread.
  int server_process() const { return server_process_; }

 private:
  friend class PostgresStatement;
  using Text = std::shared_ptr<PostgresText>;
  using Values = std::vector<PostgresValue>;
  void connect();
  PostgresResult begin(const char* sql);
  PostgresResult run(const char* sql);
  template <class F>
  auto noting_loss(F&& f) {
    try {
      return f();
    } catch (const DbError& e) {
      if (e.cause == DbError::Cause::kUnreachable) is_lost_ = true;
      throw;
    }
  }

  // For PostgresStatement.
  bool is_writing() const { return is_writing_; }
  std::size_t queue_write(const Text& text, const Values& values);
  void take_back_write(std::size_t queued);
  void expect_one_change(std::size_t queued, std::string_view move);
  std::optional<KeyedRows> remembered(const Text& text, const Values& values);
  void remember(const Text& text, const Values& values, const KeyedRows& rows);
  PostgresResult run_now(const Text& text, const Values& values);

  // Sends the queued writes, if `flush`, then the pending reads, then `text`, if there is one.
  PostgresResult exchange(bool flush, const Text& text, const Values& values);
  PostgresResult run_one(const Text& text, const Values& values);
  void send(PostgresPipeline& pipeline, const WriteQueue::Batch& batch);
  void send(PostgresPipeline& pipeline, const ReadCache::Pending& pending);
  // Names of prepared statements. `prepare(name, sql, types)` is called for one that is not prepared yet.
  template <class Prepare>
  std::string prepared_one(PostgresText& text, const Values& values, Prepare prepare);
  void renew(PostgresText& text);
  std::string new_name() { return "s" + std::to_string(++statements_); }
  Text text_of(std::string_view sql);
  const Text& text_at(Sql sql);
  void forget_transaction();
  pg_result* answer(int is_sent);
  void check_server();
  void check_store(const PostgresResult& begun) const;
  void end_transaction() noexcept;
  bool was_committed();
  std::string writer_literal() const;

  const std::string url_;
  const ObserveTime observe_;
  std::mutex mutex_;  // of connection_, for stop_waiting
  pg_conn* connection_ = nullptr;
  bool is_lost_ = false;                         // the connection is of no use, whatever its status
  int notices_ = 0;                              // warnings of the server so far
  std::uint64_t connections_ = 0;                // so far; statements prepared on an earlier one are gone
  std::uint64_t statements_ = 0;                 // names of prepared statements
  std::unordered_map<std::string, Text> texts_;  // by the text of the role class
  std::unordered_map<const char*, Text> texts_by_address_;  // of literals
  WriteQueue queue_;
  ReadCache cache_;
  std::vector<std::int64_t> result_ids_;  // reserved ones
  bool is_writing_ = false;
  bool has_written_ = false;             // this transaction
  bool has_unknown_statements_ = false;  // a pipeline failed, perhaps before it prepared them
  std::int64_t changes_ = 0;
  std::string begin_write_;
  std::optional<int> expected_schema_;
  std::optional<std::string> expected_store_;
  const std::string writer_;     // identifies this connection in `writers`
  std::int64_t group_ = 0;       // number of the current writing transaction
  std::int64_t last_group_ = 0;  // the last committed one with a row in `writers`
  std::atomic<bool> is_stopping_{false};
  std::atomic<int> server_process_{0};
  std::atomic<std::int64_t> busy_since_ms_{0};  // steady clock; 0: no writing transaction
  std::optional<std::chrono::steady_clock::time_point> read_end_;
  // Reads only: until then, an answer of the server is waited for.
  std::optional<std::chrono::steady_clock::time_point> answer_end_;
  std::chrono::steady_clock::time_point connect_again_;  // reads only: not earlier
};

}  // namespace millrace::storage
