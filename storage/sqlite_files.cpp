#include "storage/sqlite_files.h"

#include <algorithm>
#include <utility>

#include <fcntl.h>
#include <sqlite3.h>

#include "storage/copy_writes.h"
#include "storage/log_writes.h"

namespace millrace::storage {
namespace {

// What SQLite has opened on this thread since it was asked last; the last of its tries is the one that it
// keeps.
thread_local int opened_fd = -1;

int open_and_note(const char* path, int flags, int mode) {
  opened_fd = ::open(path, flags, mode);
  return opened_fd;
}

int take_opened_fd() { return std::exchange(opened_fd, -1); }

int open_file(sqlite3_vfs*, const char* path, sqlite3_file* file, int flags, int* flags_out) {
  sqlite3_vfs& own = *sqlite3_vfs_find(nullptr);
  if ((flags & SQLITE_OPEN_WAL) != 0) return open_log(own, path, file, flags, flags_out);
  if ((flags & SQLITE_OPEN_MAIN_DB) == 0) return own.xOpen(&own, path, file, flags, flags_out);
  take_opened_fd();
  return open_for_copies(own, path, file, flags, flags_out, take_opened_fd);
}

void set_up_sqlite() {
  sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  sqlite3_vfs* own = sqlite3_vfs_find(nullptr);
  own->xSetSystemCall(own, "open", reinterpret_cast<sqlite3_syscall_ptr>(&open_and_note));
}

// SQLite keeps the address of a VFS and links it into its list: it lives as long as the process.
struct Vfs {
  Vfs(const char* name, decltype(sqlite3_vfs::xOpen) open) : vfs(*sqlite3_vfs_find(nullptr)) {
    vfs.zName = name;
    vfs.szOsFile += std::max(kLogFileBytes, kRunFileBytes);
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
  static const bool is_set_up = (set_up_sqlite(), true);
  static Vfs vfs("millrace", open_file);
  return is_set_up ? vfs.name() : nullptr;
}

}  // namespace millrace::storage
