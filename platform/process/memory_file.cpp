#include "platform/process/memory_file.h"

#include <cerrno>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

namespace millrace::process {
namespace {

base::Fd empty_file() { return base::Fd(::memfd_create("bytes", MFD_CLOEXEC | MFD_ALLOW_SEALING)); }

base::Error none_left() {
  return base::error(base::Code::kOverloaded,
                     "no file descriptor or no memory is left for a jail: raise `ulimit -n`");
}

base::Result<base::Fd> sealed(base::Fd fd) {
  constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  if (::lseek(fd.get(), 0, SEEK_SET) != 0 || ::fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) {
    return base::error(base::Code::kInternal, "this kernel cannot seal a file in memory");
  }
  return fd;
}

}  // namespace

base::Result<base::Fd> memory_file(std::string_view bytes) {
  base::Fd fd = empty_file();
  const auto length = static_cast<ssize_t>(bytes.size());
  if (!fd || ::write(fd.get(), bytes.data(), bytes.size()) != length) return none_left();
  return sealed(std::move(fd));
}

namespace {

base::Result<base::Fd> filled(base::Fd copy, int fd, std::uint64_t size_bytes) {
  if (!copy) return none_left();
  const auto size = static_cast<off_t>(size_bytes);
  for (off_t at = 0; at < size;) {
    const ssize_t count = ::sendfile(copy.get(), fd, &at, static_cast<std::size_t>(size - at));
    if (count > 0 || (count < 0 && errno == EINTR)) continue;
    if (count == 0)
      return base::error(base::Code::kInternal, "the file ends after " + std::to_string(at) + " of " +
                                                    std::to_string(size) + " bytes");
    if (errno == ENOMEM || errno == ENOSPC || errno == EDQUOT) return none_left();
    return base::error(base::Code::kInternal,
                       std::string("the file cannot be read: ") + std::strerror(errno));
  }
  return sealed(std::move(copy));
}

}  // namespace

base::Result<base::Fd> memory_copy(int fd, std::uint64_t size_bytes) {
  return filled(empty_file(), fd, size_bytes);
}

base::Result<base::Fd> program_copy(int fd, std::uint64_t size_bytes) {
  constexpr unsigned kExecutable = 0x10;  // MFD_EXEC, since Linux 6.3
  base::Fd file(::memfd_create("program", MFD_CLOEXEC | MFD_ALLOW_SEALING | kExecutable));
  return filled(file || errno != EINVAL ? std::move(file) : empty_file(), fd, size_bytes);
}

}  // namespace millrace::process
