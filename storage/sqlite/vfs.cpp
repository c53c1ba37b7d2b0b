#include "storage/sqlite/vfs.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "platform/base/fd.h"
#include "storage/sqlite/database.h"
#include "storage/sqlite/vfs_file.h"

namespace millrace::storage {
namespace {

class DatabaseFile : public ForwardingFile {
 public:
  DatabaseFile(sqlite3_file* inner, const char* path) : ForwardingFile(inner, path) {}

  int write(const void* bytes, int size, sqlite3_int64 at) {
    is_unsynced_ = true;
    return inner().xWrite(file(), bytes, size, at);
  }

  // SQLite truncates the file after each checkpoint of the whole log, nearly always to the size that it
  // already has.
  int truncate(sqlite3_int64 size) {
    sqlite3_int64 now = 0;
    if (const int code = inner().xFileSize(file(), &now); code != SQLITE_OK || now == size) return code;
    is_unsynced_ = true;
    return inner().xTruncate(file(), size);
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
  return Forwarded<&sqlite3_io_methods::xFileControl>::on(file, operation, argument);
}

constexpr sqlite3_io_methods database_methods() {
  sqlite3_io_methods methods = forwarding_methods<DatabaseFile>(2);
  methods.xWrite = write_page;
  methods.xTruncate = truncate_database;
  methods.xSync = sync_database;
  methods.xFileControl = control_database;
  return methods;
}

constexpr sqlite3_io_methods kDatabaseMethods = database_methods();

}  // namespace

const int kDatabaseFileBytes = sizeof(DatabaseFile);

int open_database_file(sqlite3_vfs& base_vfs, const char* path, sqlite3_file* memory, int flags,
                       int* flags_out) {
  auto* over = new (memory) DatabaseFile(wrapped_file_at<DatabaseFile>(memory), path);
  const int code = base_vfs.xOpen(&base_vfs, path, over->file(), flags, flags_out);
  if (over->file()->pMethods != nullptr) over->pMethods = &kDatabaseMethods;
  return code;
}

namespace {

// SQLite writes at most 131,071 bytes per call.
constexpr sqlite3_int64 kLogStepBytes = 1 << 20;     // blocks that are allocated at once
constexpr sqlite3_int64 kMetadataBytes = 64 * 1024;  // of a file, which count as its blocks, at most
constexpr int kPageHeaderBytes = 24;
constexpr sqlite3_int64 kLogBufferBytes = 15 * (kPageBytes + kPageHeaderBytes);
static_assert(kLogBufferBytes <= 0x1ffff);

class LogFile : public ForwardingFile {
 public:
  LogFile(sqlite3_file* inner, const char* path) : ForwardingFile(inner, path) {}

  int write(const void* bytes, int size, sqlite3_int64 at) {
    if (size == kPageHeaderBytes) note_generation(static_cast<const unsigned char*>(bytes) + 8);
    if (!extends_buffer(size, at)) {
      if (const int code = flush(); code != SQLITE_OK) return code;
      if (size > kLogBufferBytes || !ensure_buffer()) return write_now(bytes, size, at);
      begin_ = at;
    }
    std::memcpy(buffer_.get() + (at - begin_), bytes, static_cast<std::size_t>(size));
    size_ = std::max(size_, at - begin_ + size);
    return SQLITE_OK;
  }

  int flush() {
    if (size_ == 0) return SQLITE_OK;
    const int size = static_cast<int>(size_);
    size_ = 0;
    return write_now(buffer_.get(), size, begin_);
  }

  void discard() { size_ = 0; }
  bool overlaps(int size, sqlite3_int64 at) const {
    return size_ > 0 && at < begin_ + size_ && begin_ < at + size;
  }
  sqlite3_int64 end() const { return size_ == 0 ? 0 : begin_ + size_; }
  std::uint64_t generation() const { return generation_; }

 private:
  // `salts`: two big-endian numbers.
  void note_generation(const unsigned char* salts) {
    generation_ = 0;
    for (int i = 0; i < 8; ++i) generation_ = generation_ << 8 | salts[i];
  }
  // The write continues or overwrites the buffered data.
  bool extends_buffer(int size, sqlite3_int64 at) const {
    return size_ > 0 && at >= begin_ && at <= begin_ + size_ && at - begin_ + size <= kLogBufferBytes;
  }
  bool ensure_buffer() {
    if (!buffer_) buffer_.reset(new (std::nothrow) char[kLogBufferBytes]);
    return buffer_ != nullptr;
  }

  int write_now(const void* bytes, int size, sqlite3_int64 at) {
    if (const int code = reserve(at + size); code != SQLITE_OK) return code;
    const int code = inner().xWrite(file(), bytes, size, at);
    return code == SQLITE_IOERR_WRITE && errno == EDQUOT ? SQLITE_FULL : code;
  }

  // Allocates the file's blocks before they are written, so that a full disk or quota is an error of a write,
  // which can be repeated, and not of a sync, which ends the process. The file's size does not change. What
  // is allocated is asked each time, because another process may have truncated the log.
  int reserve(sqlite3_int64 end) {
    if (!can_reserve_) return SQLITE_OK;
    if (!own_) own_.reset(::open(path(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
    struct stat about {};
    // No descriptor is free: the next write tries again.
    if (!own_ || ::fstat(own_.get(), &about) != 0) return SQLITE_OK;
    const sqlite3_int64 allocated = std::max<sqlite3_int64>(0, about.st_blocks * 512 - kMetadataBytes);
    if (end <= allocated) return SQLITE_OK;
    for (const sqlite3_int64 step : {kLogStepBytes, sqlite3_int64{kPageBytes}}) {
      const sqlite3_int64 until = (end / step + 1) * step + kMetadataBytes;
      int failed = 0;
      do {
        failed = ::fallocate(own_.get(), FALLOC_FL_KEEP_SIZE, allocated, until - allocated);
      } while (failed != 0 && errno == EINTR);
      if (failed == 0) return SQLITE_OK;
      if (errno != ENOSPC && errno != EDQUOT) {
        can_reserve_ = false;
        return SQLITE_OK;
      }
    }
    return SQLITE_FULL;
  }

  base::Fd own_;                    // opened for the first reservation
  bool can_reserve_ = true;         // the file system can
  std::unique_ptr<char[]> buffer_;  // allocated at the first write; readers have none
  sqlite3_int64 begin_ = 0;         // file offset of the first buffered byte
  sqlite3_int64 size_ = 0;          // bytes buffered
  std::uint64_t generation_ = 0;    // the salts of the last page written
};

LogFile& log_of(sqlite3_file* file) { return *static_cast<LogFile*>(file); }

int read_file(sqlite3_file* file, void* bytes, int size, sqlite3_int64 at) {
  LogFile& log = log_of(file);
  if (log.overlaps(size, at)) {
    if (const int code = log.flush(); code != SQLITE_OK) return code;
  }
  return log.inner().xRead(log.file(), bytes, size, at);
}

int write_file(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 at) {
  return log_of(file).write(bytes, size, at);
}

int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  LogFile& log = log_of(file);
  if (const int code = log.flush(); code != SQLITE_OK) return code;
  return log.inner().xTruncate(log.file(), size);
}

int sync_file(sqlite3_file* file, int flags) {
  LogFile& log = log_of(file);
  if (const int code = log.flush(); code != SQLITE_OK) return code;
  return log.sync(flags);
}

int measure_file(sqlite3_file* file, sqlite3_int64* size) {
  LogFile& log = log_of(file);
  const int code = log.inner().xFileSize(log.file(), size);
  if (code == SQLITE_OK) *size = std::max(*size, log.end());
  return code;
}

// Data that is still buffered at close belongs to no commit; another connection may use its place by now.
constexpr sqlite3_io_methods log_methods() {
  sqlite3_io_methods methods = forwarding_methods<LogFile>(1);
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

int open_log(sqlite3_vfs& base_vfs, const char* path, sqlite3_file* memory, int flags, int* flags_out) {
  auto* log = new (memory) LogFile(wrapped_file_at<LogFile>(memory), path);
  const int code = base_vfs.xOpen(&base_vfs, path, log->file(), flags, flags_out);
  if (log->file()->pMethods != nullptr) log->pMethods = &kLogMethods;
  return code;
}

namespace {

LogFile* log_of_connection(sqlite3* db) {
  sqlite3_file* log = nullptr;
  const int code = sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
  return code == SQLITE_OK && log != nullptr && log->pMethods == &kLogMethods ? &log_of(log) : nullptr;
}

}  // namespace

void discard_buffered_log(sqlite3* db) {
  if (LogFile* log = log_of_connection(db)) log->discard();
}

std::uint64_t log_generation(sqlite3* db) {
  const LogFile* log = log_of_connection(db);
  return log == nullptr ? 0 : log->generation();
}

namespace {

int open_file(sqlite3_vfs*, const char* path, sqlite3_file* file, int flags, int* flags_out) {
  sqlite3_vfs& base_vfs = *sqlite3_vfs_find(nullptr);
  if ((flags & SQLITE_OPEN_WAL) != 0) return open_log(base_vfs, path, file, flags, flags_out);
  if ((flags & SQLITE_OPEN_MAIN_DB) == 0) return base_vfs.xOpen(&base_vfs, path, file, flags, flags_out);
  return open_database_file(base_vfs, path, file, flags, flags_out);
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
