#include "storage/page_cache.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "platform/base/fd.h"
#include "storage/open_failure.h"

namespace millrace::storage {

// Dirty pages cannot be dropped, hence the sync. The first sync may fail because of pages that could not be
// written before this start. The kernel reports that only once, and these pages are among those dropped.
base::Status drop_cached_pages(const std::string& file) {
  const base::Fd opened(::open(file.c_str(), O_RDWR | O_CLOEXEC));
  if (!opened && errno == ENOENT) return {};
  if (!opened)
    return base::error(base::Code::kInternal, file + ": cannot be opened: " + system_failure(errno));
  if (::fdatasync(opened.get()) != 0 && ::fdatasync(opened.get()) != 0) {
    return base::error(base::Code::kInternal, file + " cannot be synced: " + system_failure(errno) +
                                                  "; look at the disk: `dmesg` says more; then start again");
  }
  // On tmpfs this is not supported: the pages are the file.
  ::posix_fadvise(opened.get(), 0, 0, POSIX_FADV_DONTNEED);
  return {};
}

}  // namespace millrace::storage
