#pragma once
#include <cerrno>

#include <sqlite3.h>

#include "storage/failures.h"

// Inside storage, for those .cpp that stand between SQLite and its files.
namespace millrace::storage {

// An open file as SQLite sees it, over the one that does the work. That one lies directly behind it, in the
// memory that SQLite gives an open file. `path` is SQLite's own copy, which lives as long as the file.
class FileOver : public sqlite3_file {
 public:
  sqlite3_file* file() const { return below_; }
  const sqlite3_io_methods& below() const { return *below_->pMethods; }

  // Syncs the file. A sync that fails does not return: it ends the process (die_of_sync, failures.h).
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

// Where the file below a `File` lies that is made at `place`.
template <class File>
sqlite3_file* place_below(sqlite3_file* place) {
  static_assert(sizeof(File) % alignof(sqlite3_int64) == 0);
  return reinterpret_cast<sqlite3_file*>(reinterpret_cast<char*>(place) + sizeof(File));
}

// Closes the file below and ends the one over it.
template <class File>
int close_over(sqlite3_file* file) {
  auto* over = static_cast<File*>(file);
  const int closed = over->below().xClose(over->file());
  over->~File();
  return closed;
}

// One method of the file below, under its own signature.
template <auto Method>
struct HandedOn;
template <class Result, class... Args, Result (*sqlite3_io_methods::*Method)(sqlite3_file*, Args...)>
struct HandedOn<Method> {
  static Result on(sqlite3_file* file, Args... args) {
    const auto* over = static_cast<FileOver*>(file);
    return (over->below().*Method)(over->file(), args...);
  }
};

// The methods of a `File` that hands everything on. `version`: SQLite's iVersion; 2 has shared memory, which
// a database has and a log has not; nothing is mapped.
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
