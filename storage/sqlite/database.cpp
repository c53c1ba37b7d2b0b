#include "storage/sqlite/database.h"

#include <cerrno>

#include <sqlite3.h>
#include <sys/stat.h>

#include "platform/base/crypto.h"
#include "storage/data_dir.h"
#include "storage/sqlite/vfs.h"

namespace millrace::storage {
namespace {

// SQLite's pool for the small blocks that each statement run allocates. The default of 40 slots is used up by
// the statements that stay prepared here.
constexpr int kLookasideBytes = 1200, kLookasideSlots = 256;

// ENOSPC is reported as SQLITE_FULL by a write, but as an I/O error when the -shm file had to grow.
SqliteError failure(sqlite3* db, int code) {
  const int system = db != nullptr ? sqlite3_system_errno(db) : 0;
  if ((code & 0xff) == SQLITE_IOERR && system == ENOSPC) code = SQLITE_FULL;
  return SqliteError{code, db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code), system};
}

void check(sqlite3* db, int code) {
  if (code != SQLITE_OK) throw failure(db, code);
}

void run_script(sqlite3* db, const char* sql) { check(db, sqlite3_exec(db, sql, nullptr, nullptr, nullptr)); }

// A new database has mode 0600 from the start; SQLite gives -wal and -shm the same mode. mknod creates the
// file without opening it, because only SQLite may open it (docs/design/delivery.md §4).
void create_private(const std::string& path) {
  if (::mknod(path.c_str(), S_IFREG | S_IRUSR | S_IWUSR, 0) == 0 || errno == EEXIST) return;
  throw SqliteError{errno == ENOSPC ? SQLITE_FULL : SQLITE_CANTOPEN, "cannot be created", errno};
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

sqlite3_stmt* compile(sqlite3* db, std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  check(db, sqlite3_prepare_v3(db, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                               &statement, nullptr));
  return statement;
}

}  // namespace

bool SqliteError::is_full() const { return (code & 0xff) == SQLITE_FULL; }
bool SqliteError::is_busy() const { return (code & 0xff) == SQLITE_BUSY; }

bool SqliteError::prevents_writes() const {
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
      return true;
    default:
      return false;
  }
}

Statement::~Statement() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
  sqlite3_stmt*& kept = db_->cache_[key_];
  if (kept == nullptr) {
    kept = statement_;
  } else {
    sqlite3_finalize(statement_);
  }
}

bool Statement::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) throw failure(db_->handle_, code);
  changes_ = sqlite3_changes(db_->handle_);
  return false;
}

void Statement::run() {
  while (step()) {
  }
}

int Statement::changes() const { return changes_; }

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_, column); }

std::optional<std::int64_t> Statement::optional_integer(int column) const {
  if (is_null(column)) return std::nullopt;
  return integer(column);
}

double Statement::real(int column) const { return sqlite3_column_double(statement_, column); }

std::string Statement::text(int column) const { return blob(column); }

std::optional<std::string> Statement::optional_text(int column) const {
  if (is_null(column)) return std::nullopt;
  return text(column);
}

std::string Statement::blob(int column) const {
  const void* bytes = sqlite3_column_blob(statement_, column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  return bytes == nullptr ? std::string() : std::string(static_cast<const char*>(bytes), size);
}

base::Uuid Statement::uuid(int column) const {
  const void* bytes = sqlite3_column_blob(statement_, column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  const auto id = base::Uuid::from_bytes({static_cast<const char*>(bytes), bytes == nullptr ? 0 : size});
  if (!id) throw SqliteError{SQLITE_MISMATCH, "column " + std::to_string(column) + " is no id"};
  return *id;
}

std::optional<base::Uuid> Statement::optional_uuid(int column) const {
  if (is_null(column)) return std::nullopt;
  return uuid(column);
}

bool Statement::is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }

void Statement::bind_one(std::int64_t v) { check(db_->handle_, sqlite3_bind_int64(statement_, next_++, v)); }

void Statement::bind_one(double v) { check(db_->handle_, sqlite3_bind_double(statement_, next_++, v)); }

void Statement::bind_one(std::nullptr_t) { check(db_->handle_, sqlite3_bind_null(statement_, next_++)); }

void Statement::bind_one(std::string_view text) {
  const char* data = text.data() == nullptr ? "" : text.data();
  check(db_->handle_,
        sqlite3_bind_text64(statement_, next_++, data, text.size(), SQLITE_STATIC, SQLITE_UTF8));
}

void Statement::bind_one(const base::Uuid& id) { bind_one(BlobView{id.bytes()}); }

void Statement::bind_one(const BlobView& view) {
  const char* data = view.bytes.data() == nullptr ? "" : view.bytes.data();
  check(db_->handle_, sqlite3_bind_blob64(statement_, next_++, data, view.bytes.size(), SQLITE_STATIC));
}

Db::Db(const Options& options) {
  const bool inspects = options.mode != Mode::kReadWrite && options.mode != Mode::kReader;
  if (!inspects) create_private(options.path);
  try {
    open_file(options);
    if (inspects) {
      configure_inspection(options);
      return;
    }
    // SQLite falls back to read-only if it may not write the file.
    if (sqlite3_db_readonly(handle_, "main") == 1) throw SqliteError{SQLITE_READONLY, "cannot be written"};
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
void Db::open_file(const Options& options) {
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

void Db::configure_inspection(const Options& options) {
  check(handle_, sqlite3_busy_timeout(handle_, options.busy_timeout_ms));
  check(handle_, sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr));
  if (options.mode == Mode::kInspectExclusive) run_script(handle_, "PRAGMA locking_mode = EXCLUSIVE");
  run_script(handle_, "PRAGMA query_only = ON; PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0");
}

void Db::configure(const Options& options) {
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

int Db::note_commit(void* state, sqlite3*, const char*, int frames) {
  auto& log = *static_cast<LogState*>(state);
  log.frames = frames;
  ++log.commits;
  return SQLITE_OK;
}

void Db::use_wal() {
  const auto statement = prepare("PRAGMA journal_mode = WAL");
  if (sqlite3_step(statement.statement_) != SQLITE_ROW) throw failure(handle_, sqlite3_errcode(handle_));
  if (statement.text(0) != "wal") throw SqliteError{SQLITE_CANTOPEN, "the file system does not support WAL"};
}

Db::~Db() { close(); }

void Db::close() {
  for (const auto& [key, statement] : cache_) sqlite3_finalize(statement);
  sqlite3_close(handle_);
}

Statement Db::prepare(Sql sql) {
  write_pending();
  return prepare_without_flush(sql);
}

void Db::write_pending() {
  if (pending_) pending_->write(*this);
}

void Db::discard_pending() { pending_.reset(); }

Statement Db::prepare_without_flush(Sql sql) {
  const char* key = sql.text().data();
  sqlite3_stmt*& kept = cache_[key];
  sqlite3_stmt* statement = kept != nullptr ? std::exchange(kept, nullptr) : compile(handle_, sql.text());
  return Statement(*this, key, statement);
}

void Db::execute(Sql sql) { run_script(handle_, sql.text().data()); }

void Db::script(std::string_view sql) { run_script(handle_, std::string(sql).c_str()); }

}  // namespace millrace::storage
