#include "storage/database_copy.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include "storage/blob_files.h"

namespace millrace::storage {
namespace {

void refuse_copy(const std::string& path, const std::string& why) {
  throw SqliteError{errno == ENOSPC ? SQLITE_FULL : SQLITE_CANTOPEN, path + ": " + why};
}

void make_empty(const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) refuse_copy(path, std::strerror(errno));
  ::close(file);
}

// The file that is being written. Nobody reads it before it is whole: it needs no journal, and one sync.
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

  void take(Db& db) {
    sqlite3_backup* copy = sqlite3_backup_init(handle_, "main", db.handle(), "main");
    if (copy == nullptr) check(sqlite3_errcode(handle_));
    const int last = sqlite3_backup_step(copy, -1);
    const int code = sqlite3_backup_finish(copy);
    check(code != SQLITE_OK || last == SQLITE_DONE ? code : last);
  }

 private:
  // A constructor that throws runs no destructor.
  void check(int code) {
    if (code == SQLITE_OK) return;
    SqliteError error{code, sqlite3_errmsg(handle_)};
    sqlite3_close(std::exchange(handle_, nullptr));
    throw error;
  }

  sqlite3* handle_ = nullptr;
};

}  // namespace

std::int64_t copy_bytes(Db& db) {
  auto s = db.prepare("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()");
  s.step();
  return s.integer(0);
}

void copy_database(Db& db, const std::string& target) {
  const std::string fresh = target + ".new";
  make_empty(fresh);
  CopyFile(fresh).take(db);
  if (std::rename(fresh.c_str(), target.c_str()) != 0) refuse_copy(target, std::strerror(errno));
  const std::string folder = std::filesystem::path(target).parent_path().string();
  if (auto synced = sync_folder(folder); !synced) refuse_copy(target, synced.error().message);
}

}  // namespace millrace::storage
