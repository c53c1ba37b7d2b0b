#include "ai/engines/host/memory_copy.h"

#include <sys/mman.h>
#include <sys/sendfile.h>

namespace millrace::engines::host {

base::Result<base::Fd> memory_copy(const base::Fd& fd, std::uint64_t size_bytes) {
  base::Fd copy(::memfd_create("input", MFD_CLOEXEC));
  const auto size = static_cast<off_t>(size_bytes);
  off_t at = 0;
  while (copy && at < size) {
    if (::sendfile(copy.get(), fd.get(), &at, static_cast<std::size_t>(size - at)) <= 0) break;
  }
  if (!copy || at != size || size == 0) {
    return base::error(base::Code::kInternal, "the input cannot be copied into its jail");
  }
  return copy;
}

}  // namespace millrace::engines::host
