#include "storage/sqlite/errors.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

#include <sqlite3.h>
#include <unistd.h>

#include "platform/base/bytes.h"
#include "platform/base/log.h"
#include "storage/data_dir.h"
#include "storage/db/process_end.h"
#include "storage/sqlite/sync_failure.h"

namespace millrace::storage {
namespace {

constexpr const char* kAdvice =
    "start millrace again: it reads the store from the disk and continues; if this happens again, check the "
    "disk (`dmesg`), move the data directory to another disk, or restore a backup";

}  // namespace

void exit_after_sync_failure(const char* file, int error) {
  const bool is_first = claim_end();
  const std::string why = std::strerror(error);
  FailureFlag::set_for_file(file, why);
  if (!is_first) wait_for_end();
  end_process("store_sync_failed", {{"file", file}, {"error", why}, {"advice", kAdvice}});
}

void exit_after_peer_failure(const std::string& reason) {
  if (!claim_end()) wait_for_end();
  end_process("store_peer_failed", {{"reason", reason}, {"advice", kAdvice}});
}

namespace {

constexpr std::int64_t kBytesToStart = 1 << 20;  // space for the log and the log's index

int primary_code(const DbError& e) { return e.code & 0xff; }

std::string full_disk(const std::string& folder, std::int64_t free, const std::string& why) {
  return folder + ": the disk is full: " + std::to_string(free) + " bytes are free, and a start needs " +
         base::format_bytes(kBytesToStart) + " (" + why + "); free some space";
}

std::string with_system(const DbError& e) {
  return e.system == 0 ? e.message : e.message + ": " + system_failure(e.system);
}

// The error for the first of the three files that this user may not use; empty if all existing files are
// usable.
std::string inaccessible_file(const std::string& database) {
  for (const char* end : {"", "-wal", "-shm"}) {
    const std::string file = database + end;
    const bool may = ::access(file.c_str(), R_OK | W_OK) == 0 || errno == ENOENT;
    if (!may) return file + ": cannot be opened: " + system_failure(errno);
  }
  return {};
}

std::string not_opened(const std::string& database, const DbError& e) {
  const std::string closed = inaccessible_file(database);
  return closed.empty() ? database + ": " + with_system(e) : closed;
}

std::string locked(const std::string& database) {
  return database + " is locked by another program, such as a database tool; end it (`fuser " + database +
         "` shows its pid)";
}

std::string cause(const std::string& database, const DbError& e) {
  switch (primary_code(e)) {
    case SQLITE_NOTADB:
      return database + " is not a millrace database, or it is damaged (" + e.message +
             "); set --data to another folder, or " + std::string(kRestoreBackup);
    case SQLITE_CORRUPT:
      return database + " is damaged (" + e.message + "); " + std::string(kRestoreBackup);
    case SQLITE_BUSY:
      return locked(database) + " and start again";
    case SQLITE_IOERR:
      return database + " cannot be read or written: " + with_system(e) +
             "; check the disk: `dmesg` has details";
    default:
      return not_opened(database, e);
  }
}

}  // namespace

std::string system_failure(int error) {
  switch (error) {
    case EACCES:
    case EPERM:
      return "permission denied; chown the data directory and everything in it to the user that runs "
             "millrace";
    case EROFS:
      return "its file system is mounted read-only; mount it for writing, or set --data to another folder";
    case ENOSPC:
    case EDQUOT:
      return "the disk or this user's quota is full; free some space";
    case EMFILE:
    case ENFILE:
      return "no file descriptor is left; raise `ulimit -n`";
    default:
      return std::strerror(error);
  }
}

std::string failure_cause(const std::string& database, const DbError& e) {
  if (e.is_full()) return database + ": " + system_failure(ENOSPC);
  if (e.is_busy()) return locked(database);
  if (primary_code(e) == SQLITE_READONLY) return database + ": " + system_failure(EROFS);
  return cause(database, e);
}

// SQLite reports "disk I/O error" if there is no space for the log and the log's index.
base::Error cannot_open(const std::string& database, const DbError& e) {
  const std::string folder = std::filesystem::path(database).parent_path().string();
  const std::int64_t free = free_bytes(folder);
  const bool is_short = free >= 0 && free < kBytesToStart;
  const bool may_be_full = e.is_full() || primary_code(e) == SQLITE_IOERR;
  if (is_short && may_be_full) return base::error(base::Code::kInternal, full_disk(folder, free, e.message));
  if (e.is_full()) return base::error(base::Code::kInternal, database + ": " + system_failure(ENOSPC));
  return base::error(base::Code::kInternal, cause(database, e));
}

}  // namespace millrace::storage
