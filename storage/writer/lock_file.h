#pragma once
#include <string>

#include "platform/base/result.h"

namespace millrace::storage {

// A file that exists only to be locked with flock (never the database: docs/design/delivery.md §4). Mode
// 0600, O_CLOEXEC: child processes do not inherit the lock. A flock belongs to the open file, so two
// LockFiles of one process exclude each other. Not thread-safe; different processes and different LockFiles
// are independent.
class LockFile {
 public:
  enum class Mode { kShared, kExclusive };

  static base::Result<LockFile> open(const std::string& path);  // creates the file if it is missing
  // Opens an existing file for inspection only: never record an owner in it. kNotFound: it does not exist.
  static base::Result<LockFile> open_existing(const std::string& path);
  LockFile() = default;
  ~LockFile();
  LockFile(LockFile&& other) noexcept;
  LockFile& operator=(LockFile&& other) noexcept;

  // Does not block. False: another holder has the lock. Also changes the mode of a held lock, but not
  // atomically.
  bool try_lock(Mode mode);
  // Blocks. False: a signal handler without SA_RESTART interrupted it; call again or give up.
  bool lock(Mode mode);
  void unlock();

  // Records this process as the owner in the file, if it is not recorded yet. Only while holding the lock
  // exclusively.
  void record_owner() const;
  // The last recorded owner: "pid 12, pid namespace 4026531836, host db1". Empty: none.
  std::string recorded_owner() const;
  // Other processes that hold the lock now, according to /proc/locks. Processes of other pid namespaces are
  // not visible.
  std::string visible_holders() const;

  const std::string& path() const { return path_; }

 private:
  LockFile(std::string path, int fd);
  std::string path_;
  int fd_ = -1;
  std::string owner_line_;
};

}  // namespace millrace::storage
