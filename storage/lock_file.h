#pragma once
#include <string>

#include "platform/base/result.h"

namespace millrace::storage {

// A file of its own that exists only to be flocked (never the database: delivery.md). 0600, O_CLOEXEC: no
// child inherits the lock. A flock belongs to the open file, so two LockFiles of one process exclude each
// other. Made by `open`; not thread-safe, but different processes and LockFiles may do anything at the same
// time.
class LockFile {
 public:
  enum class Mode { kShared, kExclusive };

  static base::Result<LockFile> open(const std::string& path);  // makes the file
  // One that is there, to look at: it is not signed. kNotFound: it is not there.
  static base::Result<LockFile> open_existing(const std::string& path);
  LockFile() = default;
  ~LockFile();
  LockFile(LockFile&& other) noexcept;
  LockFile& operator=(LockFile&& other) noexcept;

  // At once; false: someone else has it. Also changes the mode of a lock that is held (not atomically).
  bool try_lock(Mode mode);
  // Blocks; false: a signal without SA_RESTART came, ask again or give up.
  bool lock(Mode mode);
  void unlock();

  // Writes who we are into the file, if it does not say so yet. Only while holding it exclusively.
  void sign() const;
  // Who signed last: "pid 12, pid namespace 4026531836, host db1"; empty: nobody did.
  std::string signed_by() const;
  // Other processes that hold the lock now, by /proc/locks; those of other pid namespaces cannot be seen.
  std::string seen_holders() const;

  const std::string& path() const { return path_; }

 private:
  LockFile(std::string path, int fd);
  std::string path_;
  int fd_ = -1;
  std::string own_line_;
};

}  // namespace millrace::storage
