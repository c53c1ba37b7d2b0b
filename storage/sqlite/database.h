#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "storage/db/db.h"

struct sqlite3;

// The database as a SQLite file. sqlite3.h is included only in .cpp files of storage and in vfs_file.h.
namespace millrace::storage {

// Page size of a new database (docs/design/delivery.md §4).
inline constexpr int kPageBytes = 8192;

// `code`: an extended result code of SQLite; `system`: the errno that caused it.
DbError sqlite_error(int code, std::string message, int system = 0);

// One connection. Every connection, including the checkpointer's, uses WAL, synchronous=FULL,
// wal_autocheckpoint=0, foreign keys off, temporary tables in memory and no mmap (docs/design/delivery.md
// §4). Deleted content is overwritten (secure_delete, as in Debian's SQLite by default). A transaction stays
// in memory until its COMMIT (cache_spill=OFF), however large it is, so rolled-back changes never reach the
// write-ahead log.
class SqliteDb final : public Db {
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
  explicit SqliteDb(const Options& options);  // throws DbError
  ~SqliteDb() override;

  void begin_write() override;
  void commit() override;  // ends the process at every error except a full disk
  void roll_back() override;
  void begin_read(std::chrono::steady_clock::time_point end) override;
  void end_read() noexcept override;
  void script(std::string_view sql) override;
  std::unique_ptr<PreparedStatement> compile(std::string_view sql) override;
  std::int64_t last_row_id() override;
  std::int64_t changes() const override;

  sqlite3* handle() const { return handle_; }
  // Pages in the write-ahead log, of all processes, when this connection last wrote to it; 0 before its first
  // write.
  int log_frames() const { return log_state_.frames; }
  // How often this connection has committed a change.
  std::uint64_t commits() const { return log_state_.commits; }

 private:
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
  std::chrono::steady_clock::time_point read_end_;
};

}  // namespace millrace::storage
