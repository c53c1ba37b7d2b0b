#include "storage/copy_writes.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include <unistd.h>

#include "storage/direct_io.h"
#include "storage/failures.h"
#include "storage/file_over.h"

namespace millrace::storage {
namespace {

constexpr sqlite3_int64 kRunBytes = 1 << 20;
constexpr sqlite3_int64 kDirectBytes = 64 << 10;  // a run of so many goes past the cache
constexpr sqlite3_int64 kCallBytes = 120 << 10;   // SQLite writes at most 131,071 with one call

// Of the locks beside the log's index (wal.c): the one of who checkpoints, and the first of the readers that
// a checkpoint may have to stop at.
constexpr int kCheckpointLock = 1, kFirstReaderLock = 4;

class RunFile : public FileOver {
 public:
  RunFile(sqlite3_file* below, const char* path) : FileOver(below, path) {}
  void direct_through(int fd) { fd_ = fd; }

  void locked(int slot, int flags, int code) {
    if (flags != (SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE)) return;
    if (slot == kCheckpointLock) stops_at_reader_ = false;
    if (slot >= kFirstReaderLock && code == SQLITE_BUSY) stops_at_reader_ = true;
  }

  void copy_begins() {
    copies_ = true;
    end_ = 0;
  }

  // It will leave a file of so many bytes, which is longer than before.
  void grow_to(sqlite3_int64 bytes) {
    if (!copies_ || stops_at_reader_) return;
    if (below().xFileSize(file(), &old_end_) == SQLITE_OK) end_ = bytes;
  }

  int write(const void* bytes, int size, sqlite3_int64 at) {
    is_unsynced_ = true;
    if (size_ > 0 && (at != begin_ + size_ || size_ + size > kRunBytes)) {
      if (const int code = flush(); code != SQLITE_OK) return code;
    }
    const bool is_appended = at >= old_end_ && at + size <= end_;
    if (!is_appended || !has_room()) return below().xWrite(file(), bytes, size, at);
    if (size_ == 0) begin_ = at;
    std::memcpy(room_.get() + size_, bytes, static_cast<std::size_t>(size));
    size_ += size;
    return at + size == end_ ? flush() : SQLITE_OK;
  }

  int flush() {
    const sqlite3_int64 size = std::exchange(size_, 0);
    for (sqlite3_int64 written = write_directly(size); written < size;) {
      const auto piece = static_cast<int>(std::min(size - written, kCallBytes));
      const int code = below().xWrite(file(), room_.get() + written, piece, begin_ + written);
      if (code != SQLITE_OK) return code;
      written += piece;
    }
    return SQLITE_OK;
  }

  // SQLite counts the pages as copied next, and syncs them by itself only if it copied the whole log.
  void copy_ends() {
    const int code = flush();
    if (code != SQLITE_OK) die_of_copy({code, "a run of pages could not be written to the database"});
    if (copies_) sync_own(SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
    copies_ = false;
    end_ = 0;
  }

  // Syncs what this connection has written; other connections sync what they write.
  int sync_own(int flags) { return std::exchange(is_unsynced_, false) ? sync(flags) : SQLITE_OK; }

  // SQLite cuts the file after each copy of the whole log, nearly always to the size that it has.
  int truncate(sqlite3_int64 size) {
    sqlite3_int64 now = 0;
    if (const int code = below().xFileSize(file(), &now); code != SQLITE_OK || now == size) return code;
    is_unsynced_ = true;
    return below().xTruncate(file(), size);
  }

 private:
  bool has_room() {
    if (!room_) room_ = direct_room(kRunBytes);
    return room_ != nullptr;
  }

  // Bytes that have been written; the rest, whatever the reason, goes through the cache.
  sqlite3_int64 write_directly(sqlite3_int64 size) {
    constexpr auto kUnit = static_cast<sqlite3_int64>(kDirectUnit);
    if (size < kDirectBytes || fd_ < 0 || begin_ % kUnit != 0 || size % kUnit != 0) return 0;
    if (!set_direct(fd_, true)) return 0;
    const ssize_t wrote = ::pwrite(fd_, room_.get(), static_cast<std::size_t>(size), begin_);
    return set_direct(fd_, false) ? std::max<sqlite3_int64>(wrote, 0) : 0;
  }

  int fd_ = -1;
  DirectRoom room_;               // made for the first run
  bool is_unsynced_ = false;      // this connection wrote since its last sync
  bool copies_ = false;           // a checkpoint is under way
  bool stops_at_reader_ = false;  // and will not have all of the log
  sqlite3_int64 old_end_ = 0;     // of the file, as the checkpoint found it
  sqlite3_int64 end_ = 0;         // as it leaves it; 0: nothing is gathered
  sqlite3_int64 begin_ = 0;       // where the first byte of the run goes
  sqlite3_int64 size_ = 0;        // of the run
};

RunFile& over_of(sqlite3_file* file) { return *static_cast<RunFile*>(file); }

int write_page(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 at) {
  return over_of(file).write(bytes, size, at);
}

int control_file(sqlite3_file* file, int what, void* argument) {
  RunFile& over = over_of(file);
  if (what == SQLITE_FCNTL_CKPT_START) over.copy_begins();
  if (what == SQLITE_FCNTL_SIZE_HINT) over.grow_to(*static_cast<sqlite3_int64*>(argument));
  if (what == SQLITE_FCNTL_CKPT_DONE) over.copy_ends();
  return HandedOn<&sqlite3_io_methods::xFileControl>::on(file, what, argument);
}

int lock_shared(sqlite3_file* file, int slot, int count, int flags) {
  const int code = HandedOn<&sqlite3_io_methods::xShmLock>::on(file, slot, count, flags);
  over_of(file).locked(slot, flags, code);
  return code;
}

// A method that finds the run in the file.
template <auto Method>
struct Flushed;
template <class... Args, int (*sqlite3_io_methods::*Method)(sqlite3_file*, Args...)>
struct Flushed<Method> {
  static int on(sqlite3_file* file, Args... args) {
    const int code = over_of(file).flush();
    return code != SQLITE_OK ? code : HandedOn<Method>::on(file, args...);
  }
};

int sync_database(sqlite3_file* file, int flags) {
  RunFile& over = over_of(file);
  const int code = over.flush();
  return code != SQLITE_OK ? code : over.sync_own(flags);
}

int truncate_database(sqlite3_file* file, sqlite3_int64 size) {
  RunFile& over = over_of(file);
  const int code = over.flush();
  return code != SQLITE_OK ? code : over.truncate(size);
}

constexpr sqlite3_io_methods copy_methods() {
  using Methods = sqlite3_io_methods;
  Methods methods = handed_on<RunFile>(2);
  methods.xWrite = write_page;
  methods.xFileControl = control_file;
  methods.xShmLock = lock_shared;
  methods.xRead = Flushed<&Methods::xRead>::on;
  methods.xTruncate = truncate_database;
  methods.xSync = sync_database;
  methods.xFileSize = Flushed<&Methods::xFileSize>::on;
  return methods;
}

constexpr sqlite3_io_methods kCopyMethods = copy_methods();

}  // namespace

const int kRunFileBytes = sizeof(RunFile);

int open_for_copies(sqlite3_vfs& own, const char* path, sqlite3_file* place, int flags, int* flags_out,
                    int (*take_opened_fd)()) {
  auto* over = new (place) RunFile(place_below<RunFile>(place), path);
  const int code = own.xOpen(&own, path, over->file(), flags, flags_out);
  if (over->file()->pMethods != nullptr) over->pMethods = &kCopyMethods;
  over->direct_through(take_opened_fd());
  return code;
}

}  // namespace millrace::storage
