#include "storage/page_cache.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "platform/base/fd.h"
#include "storage/open_failure.h"

namespace millrace::storage {

// Dirty pages are not dropped: hence the sync. The kernel tells a failed write once, so that a start that is
// refused here drops those pages the next time.
base::Status drop_cached_pages(const std::string& file) {
  const base::Fd opened(::open(file.c_str(), O_RDWR | O_CLOEXEC));
  if (!opened && errno == ENOENT) return {};
  if (!opened)
    return base::error(base::Code::kInternal, file + ": cannot be opened: " + system_failure(errno));
  if (::fdatasync(opened.get()) != 0) {
    return base::error(base::Code::kInternal, file + " cannot be synced: " + system_failure(errno) +
                                                  "; look at the disk: `dmesg` says more; then start again");
  }
  // Where it is not supported (tmpfs), the pages are the file.
  ::posix_fadvise(opened.get(), 0, 0, POSIX_FADV_DONTNEED);
  return {};
}

}  // namespace millrace::storage
