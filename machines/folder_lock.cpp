#include "machines/folder_lock.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/file.h>

namespace millrace::machines {
namespace {

base::Error not_locked(const std::string& path) {
  return base::error(base::Code::kInternal, "cannot lock " + path + ": " + std::strerror(errno));
}

base::Fd opened(const std::string& path) {
  return base::Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

bool locked(const base::Fd& fd, int operation) {
  int done = 0;
  do {
    done = ::flock(fd.get(), operation);
  } while (done != 0 && errno == EINTR);
  return done == 0;
}

}  // namespace

base::Result<FolderLock> FolderLock::wait(const std::string& path) {
  base::Fd fd = opened(path);
  if (!fd || !locked(fd, LOCK_EX)) return not_locked(path);
  return FolderLock(std::move(fd));
}

base::Result<std::optional<FolderLock>> FolderLock::try_now(const std::string& path) {
  base::Fd fd = opened(path);
  if (!fd) return not_locked(path);
  if (locked(fd, LOCK_EX | LOCK_NB)) return std::optional(FolderLock(std::move(fd)));
  if (errno == EWOULDBLOCK) return std::optional<FolderLock>();
  return not_locked(path);
}

}  // namespace millrace::machines
