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

// SQLite on one screen. sqlite3.h stays in storage/*.cpp (and in file_over.h, which is theirs). Errors of
// SQLite are exceptions inside storage (SqliteError), caught at the writer and at the readers' edge and never
// seen outside the room.
namespace millrace::storage {

// Of a new database (delivery.md, SQLite settings).
inline constexpr int kPageBytes = 8192;

struct SqliteError {
  int code = 0;  // extended result code
  std::string message;
  int system = 0;        // errno behind it; 0: not known
  bool is_full() const;  // SQLITE_FULL or ENOSPC
  bool is_busy() const;
};

// SQL is a literal beside its owner: nothing built at run time converts to it.
class Sql {
 public:
  template <std::size_t N>
  consteval Sql(const char (&text)[N]) : text_(text, N - 1) {}  // NOLINT(google-explicit-constructor)
  constexpr std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

class Db;

struct BlobView {
  std::string_view bytes;
};

// One prepared statement in use. Binds positional parameters in order; resets and unbinds when it goes out of
// scope, so that no read transaction stays open. Not thread-safe, as its Db.
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
  bool step();          // true: a row is there
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

// Rows of a transaction that are written together, later than they are made (Db::pending).
class Pending {
 public:
  virtual ~Pending() = default;
  // Writes what there is, if anything, through statements of `prepare_apart`. Afterwards there is nothing;
  // what throws leaves a transaction that can only be rolled back (Db::forget_pending).
  virtual void write(Db& db) = 0;
};

// One connection, used by one thread at a time. Statements are prepared once and kept by their SQL's address;
// one that is prepared again while it is in use gets a second copy. Every connection, the checkpointer's too,
// is WAL, synchronous=FULL, wal_autocheckpoint=0, foreign keys off, temporary tables in memory, no mmap
// (delivery.md), and overwrites what is deleted (secure_delete, as Debian's SQLite does by itself). A
// transaction stays in memory until its COMMIT (cache_spill=OFF), however large it is: what is rolled back
// has not been in the log.
class Db {
 public:
  // kReader: query_only. kInspect, kInspectAlone: an existing database that is not changed, nor a file made
  // beside it; alone: REQUIRES that no process has it open, and none opens it meanwhile.
  enum class Mode { kReadWrite, kReader, kInspect, kInspectAlone };
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

  Statement prepare(Sql sql);  // from the cache; what is pending is written first
  // The same without that, for a statement that has nothing to do with what may be pending.
  Statement prepare_apart(Sql sql);
  // Made at its first use. One type for a connection.
  template <class T>
  T& pending() {
    if (!pending_) pending_ = std::make_unique<T>();
    return static_cast<T&>(*pending_);
  }
  void write_pending();               // before the COMMIT: what fails is still to be rolled back
  void forget_pending();              // before a rollback
  void execute(Sql sql);              // one or more statements without parameters
  void script(std::string_view sql);  // migrations only
  sqlite3* handle() const { return handle_; }
  // Pages in the write-ahead log, everybody's, when this connection last wrote to it; 0 before.
  int log_frames() const { return log_frames_; }

 private:
  friend class Statement;
  void open_file(const Options& options);
  void configure(const Options& options);
  void configure_inspection(const Options& options);
  void use_wal();
  void close();

  sqlite3* handle_ = nullptr;
  int log_frames_ = 0;
  std::unique_ptr<Pending> pending_;
  std::unordered_map<const char*, sqlite3_stmt*> cache_;
};

}  // namespace millrace::storage
