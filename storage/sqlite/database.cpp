#include "storage/sqlite/database.h"

#include <cerrno>

#include <sqlite3.h>
#include <sys/stat.h>

#include "platform/base/crypto.h"
#include "storage/data_dir.h"
#include "storage/db/process_end.h"
#include "storage/sqlite/errors.h"
#include "storage/sqlite/vfs.h"

namespace millrace::storage {
namespace {

// SQLite's pool for the small blocks that each statement run allocates. The default of 40 slots is used up by
// the statements that stay prepared here.
constexpr int kLookasideBytes = 1200, kLookasideSlots = 256;

// ENOSPC is reported as SQLITE_FULL by a write, but as an I/O error when the -shm file had to grow.
DbError failure(sqlite3* db, int code) {
  const int system = db != nullptr ? sqlite3_system_errno(db) : 0;
  if ((code & 0xff) == SQLITE_IOERR && system == ENOSPC) code = SQLITE_FULL;
  return sqlite_error(code, db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code), system);
}

void check(sqlite3* db, int code) {
  if (code != SQLITE_OK) throw failure(db, code);
}

void run_script(sqlite3* db, const char* sql) { check(db, sqlite3_exec(db, sql, nullptr, nullptr, nullptr)); }

// A new database has mode 0600 from the start; SQLite gives -wal and -shm the same mode. mknod creates the
// file without opening it, because only SQLite may open it (docs/design/delivery.md §4).
void create_private(const std::string& path) {
  if (::mknod(path.c_str(), S_IFREG | S_IRUSR | S_IWUSR, 0) == 0 || errno == EEXIST) return;
  throw sqlite_error(errno == ENOSPC ? SQLITE_FULL : SQLITE_CANTOPEN, "cannot be created", errno);
}

// Any rollback releases the write lock, including one that SQLite does by itself after an error.
void discard_log_at_rollback(sqlite3* db) {
  sqlite3_rollback_hook(
      db, [](void* own) { discard_buffered_log(static_cast<sqlite3*>(own)); }, db);
}

std::string immutable_uri(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    const bool is_special = c == '?' || c == '#' || c == '%';
    uri += is_special ? "%" + base::hex(std::string(1, c)) : std::string(1, c);
  }
  return uri + "?immutable=1";
}

constexpr int kLookEveryInstructions = 10'000;

int past(void* end) {
  using std::chrono::steady_clock;
  return steady_clock::now() > *static_cast<steady_clock::time_point*>(end) ? 1 : 0;
}

class SqliteStatement final : public PreparedStatement {
 public:
  SqliteStatement(sqlite3* db, std::string_view sql) : db_(db) {
    check(db, sqlite3_prepare_v3(db, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                                 &statement_, nullptr));
  }
  ~SqliteStatement() override { sqlite3_finalize(statement_); }
  SqliteStatement(const SqliteStatement&) = delete;
  SqliteStatement& operator=(const SqliteStatement&) = delete;

  void bind(int parameter, std::int64_t value) override {
    check(db_, sqlite3_bind_int64(statement_, parameter, value));
  }
  void bind(int parameter, double value) override {
    check(db_, sqlite3_bind_double(statement_, parameter, value));
  }
  void bind(int parameter, std::nullptr_t) override { check(db_, sqlite3_bind_null(statement_, parameter)); }
  void bind(int parameter, std::string_view text) override {
    const char* data = text.data() == nullptr ? "" : text.data();
    check(db_, sqlite3_bind_text64(statement_, parameter, data, text.size(), SQLITE_STATIC, SQLITE_UTF8));
  }
  void bind(int parameter, const BlobView& view) override {
    const char* data = view.bytes.data() == nullptr ? "" : view.bytes.data();
    check(db_, sqlite3_bind_blob64(statement_, parameter, data, view.bytes.size(), SQLITE_STATIC));
  }
  bool step() override {
    const int code = sqlite3_step(statement_);
    if (code == SQLITE_ROW) return true;
    if (code != SQLITE_DONE) throw failure(db_, code);
    changes_ = sqlite3_changes(db_);
    return false;
  }
  int changes() override { return changes_; }
  std::int64_t integer(int column) const override { return sqlite3_column_int64(statement_, column); }
  double real(int column) const override { return sqlite3_column_double(statement_, column); }
  std::string_view bytes(int column) const override {
    const void* bytes = sqlite3_column_blob(statement_, column);
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
    return bytes == nullptr ? std::string_view() : std::string_view(static_cast<const char*>(bytes), size);
  }
  bool is_null(int column) const override { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  void reset() noexcept override {
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
  }

 private:
  sqlite3* db_;
  sqlite3_stmt* statement_ = nullptr;
  int changes_ = 0;
};

DbError::Cause cause_of(int code) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return DbError::Cause::kFull;
    case SQLITE_BUSY:
      return DbError::Cause::kBusy;
    case SQLITE_INTERRUPT:
      return DbError::Cause::kInterrupted;
    case SQLITE_IOERR:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
      return DbError::Cause::kUnusable;
    default:
      return DbError::Cause::kFault;
  }
}

}  // namespace

DbError sqlite_error(int code, std::string message, int system) {
  return {.cause = cause_of(code), .message = std::move(message), .code = code, .system = system};
}

SqliteDb::SqliteDb(const Options& options) {
  const bool inspects = options.mode != Mode::kReadWrite && options.mode != Mode::kReader;
  if (!inspects) create_private(options.path);
  try {
    open_file(options);
    if (inspects) {
      configure_inspection(options);
      return;
    }
    // SQLite falls back to read-only if it may not write the file.
    if (sqlite3_db_readonly(handle_, "main") == 1) throw sqlite_error(SQLITE_READONLY, "cannot be written");
    // Must come before the first statement; later SQLite refuses it.
    check(handle_,
          sqlite3_db_config(handle_, SQLITE_DBCONFIG_LOOKASIDE, nullptr, kLookasideBytes, kLookasideSlots));
    configure(options);
  } catch (...) {
    close();
    throw;
  }
}

// A database without a write-ahead log is opened as immutable, so SQLite creates no files beside it. A
// database with a log that no process has open needs an index of the log. SQLite builds this index in memory
// for a connection with exclusive access, and such a connection must be able to write.
void SqliteDb::open_file(const Options& options) {
  constexpr int kFlags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE;
  const bool has_log = file_bytes(options.path + "-wal") > 0;
  const bool is_immutable =
      options.mode == Mode::kInspectWithoutLog || (options.mode == Mode::kInspectExclusive && !has_log);
  const bool is_read_only = options.mode == Mode::kInspect || is_immutable;
  const int flags = kFlags | (is_read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) |
                    (is_immutable ? SQLITE_OPEN_URI : 0);
  const std::string name = is_immutable ? immutable_uri(options.path) : options.path;
  check(handle_, sqlite3_open_v2(name.c_str(), &handle_, flags, vfs_name()));
}

void SqliteDb::configure_inspection(const Options& options) {
  check(handle_, sqlite3_busy_timeout(handle_, options.busy_timeout_ms));
  check(handle_, sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr));
  if (options.mode == Mode::kInspectExclusive) run_script(handle_, "PRAGMA locking_mode = EXCLUSIVE");
  run_script(handle_, "PRAGMA query_only = ON; PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0");
}

void SqliteDb::configure(const Options& options) {
  check(handle_, sqlite3_busy_timeout(handle_, options.busy_timeout_ms));
  discard_log_at_rollback(handle_);
  run_script(handle_, ("PRAGMA page_size = " + std::to_string(kPageBytes)).c_str());
  use_wal();
  run_script(handle_,
             "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA foreign_keys = OFF;"
             "PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0; PRAGMA secure_delete = ON;"
             "PRAGMA cache_spill = OFF");
  const std::string cache = "PRAGMA cache_size = -" + std::to_string(options.cache_kib);
  run_script(handle_, cache.c_str());
  if (options.mode == Mode::kReader) run_script(handle_, "PRAGMA query_only = ON");
  sqlite3_wal_hook(handle_, note_commit,
                   &log_state_);  // must follow wal_autocheckpoint, which also sets a WAL hook
}

int SqliteDb::note_commit(void* state, sqlite3*, const char*, int frames) {
  auto& log = *static_cast<LogState*>(state);
  log.frames = frames;
  ++log.commits;
  return SQLITE_OK;
}

void SqliteDb::use_wal() {
  auto statement = prepare("PRAGMA journal_mode = WAL");
  if (!statement.step()) throw failure(handle_, sqlite3_errcode(handle_));
  if (statement.text(0) != "wal") throw sqlite_error(SQLITE_CANTOPEN, "the file system does not support WAL");
}

SqliteDb::~SqliteDb() { close(); }

void SqliteDb::close() {
  drop_statements();
  sqlite3_close(handle_);
}

std::unique_ptr<PreparedStatement> SqliteDb::compile(std::string_view sql) {
  return std::make_unique<SqliteStatement>(handle_, sql);
}

void SqliteDb::begin_write() { prepare("BEGIN IMMEDIATE").run(); }

void SqliteDb::commit() {
  write_pending();
  try {
    prepare("COMMIT").run();
  } catch (const DbError& e) {
    if (!e.is_full()) exit_after_commit_failure(e);
    throw;
  }
}

void SqliteDb::roll_back() {
  discard_pending();
  if (sqlite3_get_autocommit(handle_) != 0) return;  // SQLite has already rolled back
  try {
    prepare("ROLLBACK").run();
  } catch (const DbError& e) {
    exit_after_commit_failure(e);
  }
}

void SqliteDb::begin_read(std::chrono::steady_clock::time_point end) {
  prepare("BEGIN").run();
  read_end_ = end;
  sqlite3_progress_handler(handle_, kLookEveryInstructions, past, &read_end_);
}

void SqliteDb::end_read() noexcept {
  sqlite3_progress_handler(handle_, 0, nullptr, nullptr);
  sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
}

void SqliteDb::script(std::string_view sql) { run_script(handle_, std::string(sql).c_str()); }

std::int64_t SqliteDb::last_row_id() { return sqlite3_last_insert_rowid(handle_); }

std::int64_t SqliteDb::changes() const { return sqlite3_total_changes64(handle_); }

}  // namespace millrace::storage
