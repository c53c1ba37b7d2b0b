#pragma once
#include <cerrno>

#include <sqlite3.h>

#include "storage/sqlite/errors.h"

// Inside storage, for the VFS (vfs.cpp).
namespace millrace::storage {

// A file that SQLite has opened; it forwards to another file that does the work. The other file is placed
// directly behind this object in the memory that SQLite provides. `path` is SQLite's own copy, which lives as
// long as the file.
class ForwardingFile : public sqlite3_file {
 public:
  sqlite3_file* file() const { return inner_; }
  const sqlite3_io_methods& inner() const { return *inner_->pMethods; }
  const char* path() const { return path_; }

  // Syncs the file. If the sync fails, it does not return but ends the process (exit_after_sync_failure).
  int sync(int flags) {
    const int code = inner().xSync(inner_, flags);
    if (code != SQLITE_OK) exit_after_sync_failure(path_, errno);
    return code;
  }

 protected:
  ForwardingFile(sqlite3_file* inner, const char* path) : sqlite3_file{nullptr}, inner_(inner), path_(path) {}

 private:
  sqlite3_file* inner_;
  const char* path_;
};

// The wrapped file of a `File` that is constructed in `place`.
template <class File>
sqlite3_file* wrapped_file_at(sqlite3_file* place) {
  static_assert(sizeof(File) % alignof(sqlite3_int64) == 0);
  return reinterpret_cast<sqlite3_file*>(reinterpret_cast<char*>(place) + sizeof(File));
}

// Closes the wrapped file and destroys the `File`.
template <class File>
int close_wrapped(sqlite3_file* file) {
  auto* over = static_cast<File*>(file);
  const int closed = over->inner().xClose(over->file());
  over->~File();
  return closed;
}

// Forwards one method to the wrapped file, with the method's own signature.
template <auto Method>
struct Forwarded;
template <class Result, class... Args, Result (*sqlite3_io_methods::*Method)(sqlite3_file*, Args...)>
struct Forwarded<Method> {
  static Result on(sqlite3_file* file, Args... args) {
    const auto* over = static_cast<ForwardingFile*>(file);
    return (over->inner().*Method)(over->file(), args...);
  }
};

// The methods of a `File` that forwards everything. `version` is SQLite's iVersion: 2 has shared memory,
// which a database needs and a log does not. Nothing is memory-mapped.
template <class File>
constexpr sqlite3_io_methods forwarding_methods(int version) {
  using Methods = sqlite3_io_methods;
  Methods methods{};
  methods.iVersion = version;
  methods.xClose = close_wrapped<File>;
  methods.xRead = Forwarded<&Methods::xRead>::on;
  methods.xWrite = Forwarded<&Methods::xWrite>::on;
  methods.xTruncate = Forwarded<&Methods::xTruncate>::on;
  methods.xSync = Forwarded<&Methods::xSync>::on;
  methods.xFileSize = Forwarded<&Methods::xFileSize>::on;
  methods.xLock = Forwarded<&Methods::xLock>::on;
  methods.xUnlock = Forwarded<&Methods::xUnlock>::on;
  methods.xCheckReservedLock = Forwarded<&Methods::xCheckReservedLock>::on;
  methods.xFileControl = Forwarded<&Methods::xFileControl>::on;
  methods.xSectorSize = Forwarded<&Methods::xSectorSize>::on;
  methods.xDeviceCharacteristics = Forwarded<&Methods::xDeviceCharacteristics>::on;
  methods.xShmMap = Forwarded<&Methods::xShmMap>::on;
  methods.xShmLock = Forwarded<&Methods::xShmLock>::on;
  methods.xShmBarrier = Forwarded<&Methods::xShmBarrier>::on;
  methods.xShmUnmap = Forwarded<&Methods::xShmUnmap>::on;
  return methods;
}

}  // namespace millrace::storage
