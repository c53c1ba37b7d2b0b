#include "storage/sqlite_files.h"

#include <algorithm>

#include <sqlite3.h>

#include "storage/copy_writes.h"
#include "storage/log_writes.h"

namespace millrace::storage {
namespace {

int open_file(sqlite3_vfs*, const char* path, sqlite3_file* file, int flags, int* flags_out) {
  sqlite3_vfs& own = *sqlite3_vfs_find(nullptr);
  if ((flags & SQLITE_OPEN_WAL) != 0) return open_log(own, path, file, flags, flags_out);
  if ((flags & SQLITE_OPEN_MAIN_DB) == 0) return own.xOpen(&own, path, file, flags, flags_out);
  return open_database_file(own, path, file, flags, flags_out);
}

// SQLite keeps the address of a VFS and links it into a list, so it must live as long as the process.
struct Vfs {
  Vfs(const char* name, decltype(sqlite3_vfs::xOpen) open) : vfs(*sqlite3_vfs_find(nullptr)) {
    vfs.zName = name;
    vfs.szOsFile += std::max(kLogFileBytes, kDatabaseFileBytes);
    vfs.pNext = nullptr;
    vfs.xOpen = open;
    registered = sqlite3_vfs_register(&vfs, 0) == SQLITE_OK;
  }
  Vfs(const Vfs&) = delete;
  Vfs& operator=(const Vfs&) = delete;
  ~Vfs() = default;
  const char* name() const { return registered ? vfs.zName : nullptr; }

  sqlite3_vfs vfs;
  bool registered = false;
};

}  // namespace

const char* vfs_name() {
  // Fails without harm if SQLite is already in use.
  [[maybe_unused]] static const int configured = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  static Vfs vfs("millrace", open_file);
  return vfs.name();
}

}  // namespace millrace::storage
