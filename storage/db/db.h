#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "platform/base/ids.h"

// A small C++ interface to a SQL database, with one implementation per engine. Errors are exceptions inside
// storage (DbError). The writer and the readers catch them; they never leave the module.
namespace millrace::storage {

struct DbError {
  enum class Cause {
    kFault,        // a bug, or rows that should not be there
    kFull,         // the disk is full
    kBusy,         // another program has locked the database
    kUnusable,     // files or disk: read-only, damaged, or with I/O errors
    kUnreachable,  // the connection to the server was lost, or none could be made
    kInterrupted,  // the time of a read transaction was over
  };
  Cause cause = Cause::kFault;
  std::string message;
  int code = 0;    // the engine's own; SQLite's extended result code
  int system = 0;  // the errno that caused it; 0: unknown

  bool is_full() const { return cause == Cause::kFull; }
  bool is_busy() const { return cause == Cause::kBusy; }
  // Something outside the gateway prevents writes.
  bool prevents_writes() const {
    return is_full() || is_busy() || cause == Cause::kUnusable || cause == Cause::kUnreachable;
  }
};

// An SQL text. It must be a literal; text built at run time does not convert to it.
class Sql {
 public:
  template <std::size_t N>
  consteval Sql(const char (&text)[N]) : text_(text) {}  // NOLINT(google-explicit-constructor)
  constexpr std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

class Db;

struct BlobView {
  std::string_view bytes;
};

template <class T>
inline constexpr bool kOwnsBytes = std::is_same_v<T, std::string> || std::is_same_v<T, base::Uuid>;
template <class T>
inline constexpr bool kOwnsBytes<std::optional<T>> = kOwnsBytes<T>;

// A prepared statement of an engine. Columns count from 0, parameters from 1. Bound views must stay valid
// until the statement has run, and a row until the next step. All methods may throw DbError.
class PreparedStatement {
 public:
  virtual ~PreparedStatement() = default;
  virtual void bind(int parameter, std::int64_t value) = 0;
  virtual void bind(int parameter, double value) = 0;
  virtual void bind(int parameter, std::nullptr_t) = 0;
  virtual void bind(int parameter, std::string_view text) = 0;
  virtual void bind(int parameter, const BlobView& bytes) = 0;
  virtual bool step() = 0;    // true: there is a row
  virtual int changes() = 0;  // rows changed by the run that has ended
  virtual void expect_one_change(std::string_view move);
  virtual std::int64_t integer(int column) const = 0;    // NULL: 0
  virtual double real(int column) const = 0;             // NULL: 0
  virtual std::string_view bytes(int column) const = 0;  // of TEXT or BLOB; NULL: empty
  virtual bool is_null(int column) const = 0;
  virtual void reset() noexcept = 0;  // ends the run, forgets rows and bound values
};

// One prepared statement in use. Binds positional parameters in order. It resets and unbinds at the end of
// its scope, so that no read transaction stays open. Not thread-safe, like its Db.
class Statement {
 public:
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Binds the next parameters: integers, bool, enums (as integers), double (REAL), std::string and
  // std::string_view (TEXT), BlobView, Uuid (BLOB), std::optional of these, nullptr. Bytes are not copied:
  // they must stay valid until the statement has run. So a temporary that owns bytes does not compile.
  template <class... Args>
  Statement& bind(Args&&... args) {
    static_assert((... && (std::is_lvalue_reference_v<Args> || !kOwnsBytes<std::remove_cvref_t<Args>>)),
                  "a temporary is destroyed before the statement runs: give it a name");
    (bind_one(args), ...);
    return *this;
  }
  bool step();          // true: there is a row
  void run();           // steps to the end; rows are ignored
  int changes() const;  // rows changed by the last run of an INSERT, UPDATE or DELETE
  // Throws DbError if the last run did not change one row, at once or when the engine knows it, but before
  // the transaction is committed. `move`: what was done, for the message.
  void expect_one_change(std::string_view move) const;

  std::int64_t integer(int column) const { return prepared_->integer(column); }
  std::optional<std::int64_t> optional_integer(int column) const;
  double real(int column) const { return prepared_->real(column); }
  std::string text(int column) const { return blob(column); }
  std::optional<std::string> optional_text(int column) const;
  std::string blob(int column) const { return std::string(prepared_->bytes(column)); }
  base::Uuid uuid(int column) const;
  std::optional<base::Uuid> optional_uuid(int column) const;
  bool is_null(int column) const { return prepared_->is_null(column); }

 private:
  friend class Db;
  Statement(Db& db, const char* key, std::unique_ptr<PreparedStatement> prepared)
      : db_(db), key_(key), prepared_(std::move(prepared)) {}
  void bind_one(std::int64_t v) { prepared_->bind(next_++, v); }
  void bind_one(int v) { bind_one(static_cast<std::int64_t>(v)); }
  void bind_one(bool v) { bind_one(static_cast<std::int64_t>(v)); }
  void bind_one(double v) { prepared_->bind(next_++, v); }
  void bind_one(std::nullptr_t) { prepared_->bind(next_++, nullptr); }
  void bind_one(std::string_view text) { prepared_->bind(next_++, text); }
  void bind_one(const std::string& text) { bind_one(std::string_view(text)); }
  void bind_one(const char* text) { bind_one(std::string_view(text)); }
  void bind_one(const base::Uuid& id) { bind_one(BlobView{id.bytes()}); }
  void bind_one(const BlobView& bytes) { prepared_->bind(next_++, bytes); }
  template <class T>
    requires std::is_enum_v<T>
  void bind_one(T v) {
    bind_one(static_cast<std::int64_t>(v));
  }
  template <class T>
  void bind_one(const std::optional<T>& v) {
    v ? bind_one(*v) : bind_one(nullptr);
  }

  Db& db_;
  const char* key_;
  std::unique_ptr<PreparedStatement> prepared_;
  int next_ = 1;
};

// Rows of a transaction that are collected and written together later (Db::pending).
class PendingRows {
 public:
  virtual ~PendingRows() = default;
  // Writes all collected rows, if there are any, with statements from `prepare_without_flush`. Afterwards
  // nothing is pending. If it throws, the transaction must be rolled back (Db::roll_back).
  virtual void write(Db& db) = 0;
};

// What a connection knows from one transaction to the next (Db::kept).
class KeptState {
 public:
  virtual ~KeptState() = default;
  virtual void transaction_begins() {}
};

// One connection, used by one thread at a time. Prepared statements are cached by the address of their SQL
// text; a statement that is prepared again while it is in use gets a second copy.
class Db {
 public:
  virtual ~Db() = default;
  Db(const Db&) = delete;
  Db& operator=(const Db&) = delete;

  Statement prepare(Sql sql);  // from the cache; pending rows are written first
  // The same, but pending rows are not written. Only for a statement that does not depend on them.
  Statement prepare_without_flush(Sql sql);
  // Created at first use. One type per connection.
  template <class T>
  T& pending() {
    if (!pending_) pending_ = std::make_unique<T>();
    return static_cast<T&>(*pending_);
  }

  void write_pending();
  // Created at first use. One type per connection. Dropped when a transaction is rolled back or the
  // connection is made anew.
  template <class T>
  T& kept() {
    if (!kept_) kept_ = std::make_unique<T>();
    return static_cast<T&>(*kept_);
  }

  // Whether each statement waits for a server. Then rows should be read ahead, and written one by one: the
  // engine joins the writes whose result is not needed.
  virtual bool has_round_trips() const { return false; }
  // The transaction will probably run this read of at most one row, with this key as its only value. An
  // engine with round trips does such reads together.
  virtual void prefetch(Sql /*read*/, const BlobView& /*key*/) {}
  virtual void prefetch(Sql /*read*/, std::int64_t /*key*/) {}
  // An unused id for a new row of job_results. Absent: the engine numbers the row by itself.
  virtual std::optional<std::int64_t> next_result_id() { return std::nullopt; }

  // Starts a transaction that may write, after waiting for other writers.
  virtual void begin_write() = 0;
  // Writes the pending rows and commits. Throws if the transaction can still be rolled back. Ends the process
  // if the outcome of the commit is unknown.
  virtual void commit() = 0;
  // Discards pending rows. Does nothing else if the engine has already rolled back.
  virtual void roll_back() = 0;
  // A read transaction. From `end` on, its statements throw kInterrupted.
  virtual void begin_read(std::chrono::steady_clock::time_point end) = 0;
  virtual void end_read() noexcept = 0;

  void execute(Sql sql) { script(sql.text()); }   // one or more statements without parameters
  virtual void script(std::string_view sql) = 0;  // migrations only
  // A statement that is not cached, for a text that is built at run time (copies of whole tables only).
  virtual std::unique_ptr<PreparedStatement> compile(std::string_view sql) = 0;
  virtual std::int64_t last_row_id() = 0;    // that the last INSERT has numbered by itself
  virtual std::int64_t changes() const = 0;  // rows that this connection has changed

 protected:
  Db() = default;
  void discard_pending() { pending_.reset(); }
  void discard_kept() { kept_.reset(); }
  void note_begin() {
    if (kept_) kept_->transaction_begins();
  }
  void drop_statements() { cache_.clear(); }  // before the connection is closed

 private:
  friend class Statement;
  std::unique_ptr<PendingRows> pending_;
  std::unique_ptr<KeptState> kept_;
  std::unordered_map<const char*, std::unique_ptr<PreparedStatement>> cache_;
};

}  // namespace millrace::storage
