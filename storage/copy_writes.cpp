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

class RunFile : public FileOver {
 public:
  explicit RunFile(sqlite3_file* below) : FileOver(below) {}
  void use(int fd) { fd_ = fd; }

  // The checkpoint that has begun will leave a file of so many bytes, which is longer than before.
  void grow_to(sqlite3_int64 bytes) { grown_bytes_ = bytes; }

  int write(const void* bytes, int size, sqlite3_int64 at) {
    if (size_ > 0 && (at != begin_ + size_ || size_ + size > kRunBytes)) {
      if (const int code = flush(); code != SQLITE_OK) return code;
    }
    if (at + size > grown_bytes_ || !has_room()) return below().xWrite(file(), bytes, size, at);
    if (size_ == 0) begin_ = at;
    std::memcpy(room_.get() + size_, bytes, static_cast<std::size_t>(size));
    size_ += size;
    return at + size == grown_bytes_ ? flush() : SQLITE_OK;
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

  void copy_ends() {
    const int code = flush();
    if (code != SQLITE_OK) die_of_copy({code, "the end of a run of pages could not be written"});
    grown_bytes_ = 0;
  }

 private:
  bool has_room() {
    if (!room_) room_ = direct_room(kRunBytes);
    return room_ != nullptr;
  }

  // Bytes that have been written; the rest, whatever the reason, goes through the cache.
  sqlite3_int64 write_directly(sqlite3_int64 size) {
    if (size < kDirectBytes || fd_ < 0 || begin_ % kDirectUnit != 0 || size % kDirectUnit != 0) return 0;
    if (!set_direct(fd_, true)) return 0;
    const ssize_t wrote = ::pwrite(fd_, room_.get(), static_cast<std::size_t>(size), begin_);
    return set_direct(fd_, false) ? std::max<sqlite3_int64>(wrote, 0) : 0;
  }

  int fd_ = -1;
  DirectRoom room_;                // made for the first run
  sqlite3_int64 grown_bytes_ = 0;  // 0: the file keeps its length, and nothing is gathered
  sqlite3_int64 begin_ = 0;        // where the first byte of the run goes
  sqlite3_int64 size_ = 0;         // of the run
};

RunFile& copy_of(sqlite3_file* file) { return *static_cast<RunFile*>(file); }

int write_page(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 at) {
  return copy_of(file).write(bytes, size, at);
}

int control_file(sqlite3_file* file, int what, void* argument) {
  RunFile& copy = copy_of(file);
  if (what == SQLITE_FCNTL_SIZE_HINT) copy.grow_to(*static_cast<sqlite3_int64*>(argument));
  if (what == SQLITE_FCNTL_CKPT_DONE) copy.copy_ends();
  return HandedOn<&sqlite3_io_methods::xFileControl>::on(file, what, argument);
}

// A method that finds the run in the file.
template <auto Method>
struct Flushed;
template <class... Args, int (*sqlite3_io_methods::*Method)(sqlite3_file*, Args...)>
struct Flushed<Method> {
  static int on(sqlite3_file* file, Args... args) {
    const int code = copy_of(file).flush();
    return code != SQLITE_OK ? code : HandedOn<Method>::on(file, args...);
  }
};

constexpr sqlite3_io_methods copy_methods() {
  using Methods = sqlite3_io_methods;
  Methods methods = handed_on<RunFile>(2);
  methods.xWrite = write_page;
  methods.xFileControl = control_file;
  methods.xRead = Flushed<&Methods::xRead>::on;
  methods.xTruncate = Flushed<&Methods::xTruncate>::on;
  methods.xSync = Flushed<&Methods::xSync>::on;
  methods.xFileSize = Flushed<&Methods::xFileSize>::on;
  return methods;
}

constexpr sqlite3_io_methods kCopyMethods = copy_methods();

}  // namespace

const int kRunFileBytes = sizeof(RunFile);

int open_for_copies(sqlite3_vfs& own, const char* path, sqlite3_file* place, int flags, int* flags_out,
                    int (*opened)()) {
  auto* copy = new (place) RunFile(place_below<RunFile>(place));
  const int code = own.xOpen(&own, path, copy->file(), flags, flags_out);
  if (copy->file()->pMethods != nullptr) copy->pMethods = &kCopyMethods;
  copy->use(opened());
  return code;
}

}  // namespace millrace::storage
