#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "platform/base/ids.h"
#include "platform/base/result.h"

struct sqlite3;
struct sqlite3_stmt;

// A small C++ interface to SQLite. sqlite3.h is included only in .cpp files of storage and in vfs_file.h.
// SQLite errors are exceptions inside storage (SqliteError). The writer and the readers catch them; they
// never leave the module.
namespace millrace::storage {

// Page size of a new database (docs/design/delivery.md §4).
inline constexpr int kPageBytes = 8192;

struct SqliteError {
  int code = 0;  // extended result code
  std::string message;
  int system = 0;        // the errno that caused it; 0: unknown
  bool is_full() const;  // SQLITE_FULL or ENOSPC
  bool is_busy() const;
  // Something outside the gateway prevents writes: the disk or the files are full, read-only, damaged or have
  // I/O errors, or another program has locked the database.
  bool prevents_writes() const;
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

// One prepared statement in use. Binds positional parameters in order. It resets and unbinds at the end of
// its scope, so that no read transaction stays open. Not thread-safe, like its Db.
class Statement {
 public:
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Binds the next parameters: integers, bool, enums (as integers), double (REAL), std::string_view (TEXT),
  // Blob, Uuid (BLOB), std::optional of these, nullptr. Views must stay valid until the statement has run.
  template <class... Args>
  Statement& bind(const Args&... args) {
    (bind_one(args), ...);
    return *this;
  }
  bool step();          // true: there is a row
  void run();           // steps to the end; rows are ignored
  int changes() const;  // rows changed by the last run of an INSERT, UPDATE or DELETE

  std::int64_t integer(int column) const;
  std::optional<std::int64_t> optional_integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;
  std::optional<std::string> optional_text(int column) const;
  std::string blob(int column) const;
  base::Uuid uuid(int column) const;
  std::optional<base::Uuid> optional_uuid(int column) const;
  bool is_null(int column) const;

 private:
  friend class Db;
  Statement(Db& db, const char* key, sqlite3_stmt* statement) : db_(&db), key_(key), statement_(statement) {}
  void bind_one(std::int64_t v);
  void bind_one(int v) { bind_one(static_cast<std::int64_t>(v)); }
  void bind_one(bool v) { bind_one(static_cast<std::int64_t>(v)); }
  void bind_one(double v);
  void bind_one(std::nullptr_t);
  void bind_one(std::string_view text);
  void bind_one(const std::string& text) { bind_one(std::string_view(text)); }
  void bind_one(const char* text) { bind_one(std::string_view(text)); }
  void bind_one(const base::Uuid& id);
  void bind_one(const BlobView& bytes);
  template <class T>
    requires std::is_enum_v<T>
  void bind_one(T v) {
    bind_one(static_cast<std::int64_t>(v));
  }
  template <class T>
  void bind_one(const std::optional<T>& v) {
    v ? bind_one(*v) : bind_one(nullptr);
  }

  Db* db_;
  const char* key_;
  sqlite3_stmt* statement_;
  int next_ = 1;
  int changes_ = 0;
};

// Rows of a transaction that are collected and written together later (Db::pending).
class PendingRows {
 public:
  virtual ~PendingRows() = default;
  // Writes all collected rows, if there are any, with statements from `prepare_without_flush`. Afterwards
  // nothing is pending. If it throws, the transaction must be rolled back (Db::discard_pending).
  virtual void write(Db& db) = 0;
};

// One connection, used by one thread at a time. Prepared statements are cached by the address of their SQL
// text; a statement that is prepared again while it is in use gets a second copy. Every connection, including
// the checkpointer's, uses WAL, synchronous=FULL, wal_autocheckpoint=0, foreign keys off, temporary tables in
// memory and no mmap (docs/design/delivery.md §4). Deleted content is overwritten (secure_delete, as in
// Debian's SQLite by default). A transaction stays in memory until its COMMIT (cache_spill=OFF), however
// large it is, so rolled-back changes never reach the write-ahead log.
class Db {
 public:
  // kReader: query_only. kInspect and kInspectExclusive: open an existing database without changing it and
  // without creating files beside it. kInspectExclusive and kInspectWithoutLog (the log is ignored)
  // REQUIRE: no process has it open, and none opens it meanwhile.
  enum class Mode { kReadWrite, kReader, kInspect, kInspectExclusive, kInspectWithoutLog };
  struct Options {
    std::string path;
    Mode mode = Mode::kReadWrite;
    int busy_timeout_ms = 5000;
    int cache_kib = 16 * 1024;
  };
  explicit Db(const Options& options);  // throws SqliteError
  ~Db();
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
  void write_pending();    // call before COMMIT: on failure the transaction can still be rolled back
  void discard_pending();  // call before a rollback
  void execute(Sql sql);   // one or more statements without parameters
  void script(std::string_view sql);  // migrations only
  sqlite3* handle() const { return handle_; }
  // Pages in the write-ahead log, of all processes, when this connection last wrote to it; 0 before its first
  // write.
  int log_frames() const { return log_state_.frames; }
  // How often this connection has committed a change.
  std::uint64_t commits() const { return log_state_.commits; }

 private:
  friend class Statement;
  struct LogState {
    int frames = 0;
    std::uint64_t commits = 0;
  };
  static int note_commit(void* state, sqlite3* db, const char* name, int frames);
  void open_file(const Options& options);
  void configure(const Options& options);
  void configure_inspection(const Options& options);
  void use_wal();
  void close();

  sqlite3* handle_ = nullptr;
  LogState log_state_;
  std::unique_ptr<PendingRows> pending_;
  std::unordered_map<const char*, sqlite3_stmt*> cache_;
};

}  // namespace millrace::storage
