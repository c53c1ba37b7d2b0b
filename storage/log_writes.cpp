#include "storage/log_writes.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

#include <sqlite3.h>

#include "storage/file_over.h"
#include "storage/sqlite.h"

namespace millrace::storage {
namespace {

// SQLite writes at most 131,071 bytes per call.
constexpr sqlite3_int64 kGatherBytes = 15 * (kPageBytes + 24);
static_assert(kGatherBytes <= 0x1ffff);

class LogFile : public FileOver {
 public:
  LogFile(sqlite3_file* below, const char* path) : FileOver(below, path) {}

  int write(const void* bytes, int size, sqlite3_int64 at) {
    if (!joins(size, at)) {
      if (const int code = flush(); code != SQLITE_OK) return code;
      if (size > kGatherBytes || !has_room()) return below().xWrite(file(), bytes, size, at);
      begin_ = at;
    }
    std::memcpy(room_.get() + (at - begin_), bytes, static_cast<std::size_t>(size));
    size_ = std::max(size_, at - begin_ + size);
    return SQLITE_OK;
  }

  int flush() {
    if (size_ == 0) return SQLITE_OK;
    const int size = static_cast<int>(size_);
    size_ = 0;
    return below().xWrite(file(), room_.get(), size, begin_);
  }

  void forget() { size_ = 0; }
  bool has_of(int size, sqlite3_int64 at) const {
    return size_ > 0 && at < begin_ + size_ && begin_ < at + size;
  }
  sqlite3_int64 end() const { return size_ == 0 ? 0 : begin_ + size_; }

 private:
  // The write continues or overwrites the buffered data.
  bool joins(int size, sqlite3_int64 at) const {
    return size_ > 0 && at >= begin_ && at <= begin_ + size_ && at - begin_ + size <= kGatherBytes;
  }
  bool has_room() {
    if (!room_) room_.reset(new (std::nothrow) char[kGatherBytes]);
    return room_ != nullptr;
  }

  std::unique_ptr<char[]> room_;  // allocated at the first write; readers have none
  sqlite3_int64 begin_ = 0;       // file offset of the first buffered byte
  sqlite3_int64 size_ = 0;        // bytes buffered
};

LogFile& log_of(sqlite3_file* file) { return *static_cast<LogFile*>(file); }

int read_file(sqlite3_file* file, void* bytes, int size, sqlite3_int64 at) {
  LogFile& log = log_of(file);
  if (log.has_of(size, at)) {
    if (const int code = log.flush(); code != SQLITE_OK) return code;
  }
  return log.below().xRead(log.file(), bytes, size, at);
}

int write_file(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 at) {
  return log_of(file).write(bytes, size, at);
}

int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  LogFile& log = log_of(file);
  if (const int code = log.flush(); code != SQLITE_OK) return code;
  return log.below().xTruncate(log.file(), size);
}

int sync_file(sqlite3_file* file, int flags) {
  LogFile& log = log_of(file);
  if (const int code = log.flush(); code != SQLITE_OK) return code;
  return log.sync(flags);
}

int measure_file(sqlite3_file* file, sqlite3_int64* size) {
  LogFile& log = log_of(file);
  const int code = log.below().xFileSize(log.file(), size);
  if (code == SQLITE_OK) *size = std::max(*size, log.end());
  return code;
}

// Data that is still buffered at close belongs to no commit; another connection may use its place by now.
constexpr sqlite3_io_methods log_methods() {
  sqlite3_io_methods methods = handed_on<LogFile>(1);
  methods.xRead = read_file;
  methods.xWrite = write_file;
  methods.xTruncate = truncate_file;
  methods.xSync = sync_file;
  methods.xFileSize = measure_file;
  return methods;
}

constexpr sqlite3_io_methods kLogMethods = log_methods();

}  // namespace

const int kLogFileBytes = sizeof(LogFile);

int open_log(sqlite3_vfs& own, const char* path, sqlite3_file* place, int flags, int* flags_out) {
  auto* log = new (place) LogFile(place_below<LogFile>(place), path);
  const int code = own.xOpen(&own, path, log->file(), flags, flags_out);
  if (log->file()->pMethods != nullptr) log->pMethods = &kLogMethods;
  return code;
}

void forget_gathered(sqlite3* db) {
  sqlite3_file* log = nullptr;
  const int code = sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
  if (code == SQLITE_OK && log != nullptr && log->pMethods == &kLogMethods) log_of(log).forget();
}

}  // namespace millrace::storage
