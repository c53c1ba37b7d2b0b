#include "storage/page_cache.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "platform/base/fd.h"
#include "storage/open_failure.h"

namespace millrace::storage {

// Dirty pages are not dropped: hence the sync. A first one may fail for pages that could not be written
// before this start: the kernel reports that once, and they are among those that are dropped.
base::Status drop_cached_pages(const std::string& file) {
  const base::Fd opened(::open(file.c_str(), O_RDWR | O_CLOEXEC));
  if (!opened && errno == ENOENT) return {};
  if (!opened)
    return base::error(base::Code::kInternal, file + ": cannot be opened: " + system_failure(errno));
  if (::fdatasync(opened.get()) != 0 && ::fdatasync(opened.get()) != 0) {
    return base::error(base::Code::kInternal, file + " cannot be synced: " + system_failure(errno) +
                                                  "; look at the disk: `dmesg` says more; then start again");
  }
  // Where it is not supported (tmpfs), the pages are the file.
  ::posix_fadvise(opened.get(), 0, 0, POSIX_FADV_DONTNEED);
  return {};
}

}  // namespace millrace::storage
