#pragma once
#include <cerrno>

#include <sqlite3.h>

#include "storage/failures.h"

// Inside storage, for the VFS (vfs.cpp).
namespace millrace::storage {

// A file that SQLite has opened; it forwards to another file that does the work. The other file is placed
// directly behind this object in the memory that SQLite provides. `path` is SQLite's own copy, which lives as
// long as the file.
class FileOver : public sqlite3_file {
 public:
  sqlite3_file* file() const { return below_; }
  const sqlite3_io_methods& below() const { return *below_->pMethods; }

  // Syncs the file. If the sync fails, it does not return but ends the process (exit_after_sync_failure).
  int sync(int flags) {
    const int code = below().xSync(below_, flags);
    if (code != SQLITE_OK) die_of_sync(path_, errno);
    return code;
  }

 protected:
  FileOver(sqlite3_file* below, const char* path) : sqlite3_file{nullptr}, below_(below), path_(path) {}

 private:
  sqlite3_file* below_;
  const char* path_;
};

// The wrapped file of a `File` that is constructed in `place`.
template <class File>
sqlite3_file* place_below(sqlite3_file* place) {
  static_assert(sizeof(File) % alignof(sqlite3_int64) == 0);
  return reinterpret_cast<sqlite3_file*>(reinterpret_cast<char*>(place) + sizeof(File));
}

// Closes the wrapped file and destroys the `File`.
template <class File>
int close_over(sqlite3_file* file) {
  auto* over = static_cast<File*>(file);
  const int closed = over->below().xClose(over->file());
  over->~File();
  return closed;
}

// Forwards one method to the wrapped file, with the method's own signature.
template <auto Method>
struct HandedOn;
template <class Result, class... Args, Result (*sqlite3_io_methods::*Method)(sqlite3_file*, Args...)>
struct HandedOn<Method> {
  static Result on(sqlite3_file* file, Args... args) {
    const auto* over = static_cast<FileOver*>(file);
    return (over->below().*Method)(over->file(), args...);
  }
};

// The methods of a `File` that forwards everything. `version` is SQLite's iVersion: 2 has shared memory,
// which a database needs and a log does not. Nothing is memory-mapped.
template <class File>
constexpr sqlite3_io_methods handed_on(int version) {
  using Methods = sqlite3_io_methods;
  Methods methods{};
  methods.iVersion = version;
  methods.xClose = close_over<File>;
  methods.xRead = HandedOn<&Methods::xRead>::on;
  methods.xWrite = HandedOn<&Methods::xWrite>::on;
  methods.xTruncate = HandedOn<&Methods::xTruncate>::on;
  methods.xSync = HandedOn<&Methods::xSync>::on;
  methods.xFileSize = HandedOn<&Methods::xFileSize>::on;
  methods.xLock = HandedOn<&Methods::xLock>::on;
  methods.xUnlock = HandedOn<&Methods::xUnlock>::on;
  methods.xCheckReservedLock = HandedOn<&Methods::xCheckReservedLock>::on;
  methods.xFileControl = HandedOn<&Methods::xFileControl>::on;
  methods.xSectorSize = HandedOn<&Methods::xSectorSize>::on;
  methods.xDeviceCharacteristics = HandedOn<&Methods::xDeviceCharacteristics>::on;
  methods.xShmMap = HandedOn<&Methods::xShmMap>::on;
  methods.xShmLock = HandedOn<&Methods::xShmLock>::on;
  methods.xShmBarrier = HandedOn<&Methods::xShmBarrier>::on;
  methods.xShmUnmap = HandedOn<&Methods::xShmUnmap>::on;
  return methods;
}

}  // namespace millrace::storage
