#include "storage/open_failure.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>

#include <sqlite3.h>
#include <unistd.h>

#include "platform/base/bytes.h"
#include "storage/data_dir.h"

namespace millrace::storage {
namespace {

constexpr std::int64_t kRoomToStart = 1 << 20;  // space for the log and the log's index

int primary(const SqliteError& e) { return e.code & 0xff; }

std::string full_disk(const std::string& folder, std::int64_t free, const std::string& why) {
  return folder + ": the disk is full: " + std::to_string(free) + " bytes are free, and a start needs " +
         base::format_bytes(kRoomToStart) + " (" + why + "); make room";
}

std::string with_system(const SqliteError& e) {
  return e.system == 0 ? e.message : e.message + ": " + system_failure(e.system);
}

// The error for the first of the three files that this user may not use; empty if all existing files are
// usable.
std::string closed_file(const std::string& database) {
  for (const char* end : {"", "-wal", "-shm"}) {
    const std::string file = database + end;
    const bool may = ::access(file.c_str(), R_OK | W_OK) == 0 || errno == ENOENT;
    if (!may) return file + ": cannot be opened: " + system_failure(errno);
  }
  return {};
}

std::string not_opened(const std::string& database, const SqliteError& e) {
  const std::string closed = closed_file(database);
  return closed.empty() ? database + ": " + with_system(e) : closed;
}

std::string cause(const std::string& database, const SqliteError& e) {
  switch (primary(e)) {
    case SQLITE_NOTADB:
      return database + " is no database of millrace's, or a damaged one (" + e.message +
             "); set --data to another folder, or " + std::string(kRestoreBackup);
    case SQLITE_CORRUPT:
      return database + " is damaged (" + e.message + "); " + std::string(kRestoreBackup);
    case SQLITE_BUSY:
      return database + " is locked by another program, such as a tool for databases; end it (`fuser " +
             database + "` tells its pid) and start again";
    case SQLITE_IOERR:
      return database + " cannot be read or written: " + with_system(e) +
             "; look at the disk: `dmesg` says more";
    default:
      return not_opened(database, e);
  }
}

}  // namespace

std::string system_failure(int error) {
  switch (error) {
    case EACCES:
    case EPERM:
      return "this user may not; chown the data directory and all in it to the user that runs millrace";
    case EROFS:
      return "its file system is mounted read-only; mount it for writing, or set --data to another folder";
    case ENOSPC:
    case EDQUOT:
      return "the disk, or what this user may have of it, is full; make room";
    case EMFILE:
    case ENFILE:
      return "no file descriptor is left; raise `ulimit -n`";
    default:
      return std::strerror(error);
  }
}

// SQLite reports "disk I/O error" if there is no space for the log and the log's index.
base::Error cannot_open(const std::string& database, const SqliteError& e) {
  const std::string folder = std::filesystem::path(database).parent_path().string();
  const std::int64_t free = free_bytes(folder);
  const bool is_short = free >= 0 && free < kRoomToStart;
  const bool may_be_full = e.is_full() || primary(e) == SQLITE_IOERR;
  if (is_short && may_be_full) return base::error(base::Code::kInternal, full_disk(folder, free, e.message));
  if (e.is_full()) return base::error(base::Code::kInternal, database + ": " + system_failure(ENOSPC));
  return base::error(base::Code::kInternal, cause(database, e));
}

}  // namespace millrace::storage
