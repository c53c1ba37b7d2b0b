#include "storage/copy_writes.h"

#include <new>
#include <utility>

#include "storage/file_over.h"

namespace millrace::storage {
namespace {

class DatabaseFile : public FileOver {
 public:
  DatabaseFile(sqlite3_file* below, const char* path) : FileOver(below, path) {}

  int write(const void* bytes, int size, sqlite3_int64 at) {
    is_unsynced_ = true;
    return below().xWrite(file(), bytes, size, at);
  }

  // SQLite truncates the file after each checkpoint of the whole log, nearly always to the size that it
  // already has.
  int truncate(sqlite3_int64 size) {
    sqlite3_int64 now = 0;
    if (const int code = below().xFileSize(file(), &now); code != SQLITE_OK || now == size) return code;
    is_unsynced_ = true;
    return below().xTruncate(file(), size);
  }

  // Syncs what this connection has written. Other connections sync their own writes.
  int sync_own(int flags) { return std::exchange(is_unsynced_, false) ? sync(flags) : SQLITE_OK; }

  void checkpoint_begins() { in_checkpoint_ = true; }
  void checkpoint_ends() {
    if (std::exchange(in_checkpoint_, false)) sync_own(SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
  }

 private:
  bool is_unsynced_ = false;  // this connection has written since its last sync
  bool in_checkpoint_ = false;
};

DatabaseFile& database_of(sqlite3_file* file) { return *static_cast<DatabaseFile*>(file); }

int write_page(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 at) {
  return database_of(file).write(bytes, size, at);
}

int truncate_database(sqlite3_file* file, sqlite3_int64 size) { return database_of(file).truncate(size); }

int sync_database(sqlite3_file* file, int flags) { return database_of(file).sync_own(flags); }

int control_database(sqlite3_file* file, int operation, void* argument) {
  if (operation == SQLITE_FCNTL_CKPT_START) database_of(file).checkpoint_begins();
  if (operation == SQLITE_FCNTL_CKPT_DONE) database_of(file).checkpoint_ends();
  return HandedOn<&sqlite3_io_methods::xFileControl>::on(file, operation, argument);
}

constexpr sqlite3_io_methods database_methods() {
  sqlite3_io_methods methods = handed_on<DatabaseFile>(2);
  methods.xWrite = write_page;
  methods.xTruncate = truncate_database;
  methods.xSync = sync_database;
  methods.xFileControl = control_database;
  return methods;
}

constexpr sqlite3_io_methods kDatabaseMethods = database_methods();

}  // namespace

const int kDatabaseFileBytes = sizeof(DatabaseFile);

int open_database_file(sqlite3_vfs& own, const char* path, sqlite3_file* place, int flags, int* flags_out) {
  auto* over = new (place) DatabaseFile(place_below<DatabaseFile>(place), path);
  const int code = own.xOpen(&own, path, over->file(), flags, flags_out);
  if (over->file()->pMethods != nullptr) over->pMethods = &kDatabaseMethods;
  return code;
}

}  // namespace millrace::storage
