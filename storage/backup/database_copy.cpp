#include "storage/backup/database_copy.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/base/log.h"
#include "storage/blobs/blob_files.h"
#include "storage/data_dir.h"

namespace millrace::storage {
namespace {

void throw_copy_error(const std::string& path, const std::string& why) {
  throw sqlite_error(errno == ENOSPC ? SQLITE_FULL : SQLITE_CANTOPEN, path + ": " + why);
}

void make_empty(const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) throw_copy_error(path, std::strerror(errno));
  ::close(file);
}

// The file that is being written. It is read only after it is complete, so it needs no journal and only one
// sync.
class CopyFile {
 public:
  explicit CopyFile(const std::string& path) {
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    check(sqlite3_open_v2(path.c_str(), &handle_, flags, nullptr));
    check(sqlite3_exec(handle_, "PRAGMA journal_mode = OFF; PRAGMA synchronous = FULL", nullptr, nullptr,
                       nullptr));
  }
  ~CopyFile() { sqlite3_close(handle_); }
  CopyFile(const CopyFile&) = delete;
  CopyFile& operator=(const CopyFile&) = delete;

  void take(SqliteDb& db) {
    sqlite3_backup* copy = sqlite3_backup_init(handle_, "main", db.handle(), "main");
    if (copy == nullptr) check(sqlite3_errcode(handle_));
    const int last = sqlite3_backup_step(copy, -1);
    const int code = sqlite3_backup_finish(copy);
    check(code != SQLITE_OK || last == SQLITE_DONE ? code : last);
  }

 private:
  // Closes the handle itself, because a constructor that throws runs no destructor.
  void check(int code) {
    if (code == SQLITE_OK) return;
    DbError error = sqlite_error(code, sqlite3_errmsg(handle_));
    sqlite3_close(std::exchange(handle_, nullptr));
    throw error;
  }

  sqlite3* handle_ = nullptr;
};

}  // namespace

std::int64_t copy_bytes(SqliteDb& db) {
  auto s = db.prepare("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()");
  s.step();
  return s.integer(0);
}

void copy_database(SqliteDb& db, const std::string& target) {
  const std::string temporary_path = target + ".new";
  make_empty(temporary_path);
  CopyFile(temporary_path).take(db);
  if (std::rename(temporary_path.c_str(), target.c_str()) != 0)
    throw_copy_error(target, std::strerror(errno));
  const std::string folder = std::filesystem::path(target).parent_path().string();
  if (auto synced = sync_folder(folder); !synced) throw_copy_error(target, synced.error().message);
}

namespace {

std::string backup_folder(const std::string& database) {
  return (std::filesystem::path(database).parent_path() / "backups").string();
}

base::Error backup_error(const std::string& what) {
  return base::error(base::Code::kInternal, "cannot back up the database before its schema changes: " + what);
}

base::Status make_backup_folder(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return backup_error(folder + ": " + std::strerror(errno));
}

base::Status check_backup_space(const std::string& folder, std::int64_t bytes,
                                std::int64_t disk_free_min_bytes) {
  const std::int64_t free = free_bytes(folder);
  if (free < 0 || free >= bytes + disk_free_min_bytes) return {};
  return backup_error(folder + " has " + mebibytes(free) + " free; the copy takes " + mebibytes(bytes) +
                      " and store.disk_free_min reserves " + mebibytes(disk_free_min_bytes) +
                      "; free some space, or lower store.disk_free_min");
}

}  // namespace

std::string schema_backup(const std::string& database, int schema) {
  return backup_folder(database) + "/millrace-v" + std::to_string(schema) + ".db";
}

base::Status back_up_schema(SqliteDb& db, const std::string& database, int schema,
                            std::int64_t disk_free_min_bytes) {
  if (schema == 0) return {};
  const std::string folder = backup_folder(database);
  if (auto made = make_backup_folder(folder); !made) return made;
  const std::int64_t bytes = copy_bytes(db);
  if (auto space = check_backup_space(folder, bytes, disk_free_min_bytes); !space) return space;
  const auto begun = std::chrono::steady_clock::now();
  const std::string file = schema_backup(database, schema);
  copy_database(db, file);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  base::log_info("store_backed_up",
                 {{"file", file}, {"schema", schema}, {"bytes", bytes}, {"seconds", took.count()}});
  return {};
}

std::string newest_schema_backup(const std::string& database, int newest) {
  for (int schema = newest; schema > 0; --schema) {
    std::error_code unreadable;
    std::string file = schema_backup(database, schema);
    if (std::filesystem::exists(file, unreadable)) return file;
  }
  return {};
}

}  // namespace millrace::storage
