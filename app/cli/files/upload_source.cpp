#include "app/cli/files/upload_source.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace millrace::cli {
namespace {

constexpr std::size_t kSourcePiece = std::size_t{1} << 20;

bool write_form(std::FILE* to, std::string_view bytes) {
  return std::fwrite(bytes.data(), 1, bytes.size(), to) == bytes.size();
}

base::Error cannot_read(const std::string& path) {
  return base::error(base::Code::kNotFound, path + ": " + std::strerror(errno));
}

}  // namespace

base::Error UploadSource::no_space() const {
  return base::error(base::Code::kInternal,
                     "no space for a copy of " + path_ + " in the folder of temporary files");
}

base::Result<UploadSource> UploadSource::open(const std::string& path) {
  UploadSource source(path);
  source.file_ = base::Fd(::open(path == "-" ? "/dev/stdin" : path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about {};
  if (!source.file_ || ::fstat(source.fd(), &about) != 0) return cannot_read(path);
  source.bytes_ = about.st_size;
  // A file of /proc has no size before it is read.
  if (S_ISREG(about.st_mode) && about.st_size > 0) return source;
  if (auto copied = source.copy(); !copied) return copied.error();
  return source;
}

base::Status UploadSource::copy() {
  copy_.reset(std::tmpfile());
  if (!copy_) return no_space();
  std::string piece(kSourcePiece, '\0');
  for (bytes_ = 0; true;) {
    const ssize_t got = ::read(file_.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannot_read(path_);
    if (got == 0) break;
    if (!write_form(copy_.get(), std::string_view(piece).substr(0, static_cast<std::size_t>(got))))
      return no_space();
    bytes_ += got;
  }
  if (std::fflush(copy_.get()) != 0) return no_space();
  return {};
}

base::Result<TemporaryFile> UploadSource::form(std::int64_t offset, std::int64_t count, std::string_view head,
                                               std::string_view tail, base::Md5* md5) const {
  TemporaryFile form(std::tmpfile());
  if (!form || !write_form(form.get(), head)) return no_space();
  std::string piece(kSourcePiece, '\0');
  while (count > 0) {
    const auto wanted = static_cast<std::size_t>(std::min<std::int64_t>(count, kSourcePiece));
    const ssize_t got = ::pread(fd(), piece.data(), wanted, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannot_read(path_);
    if (got == 0) return base::error(base::Code::kInvalidState, path_ + " became shorter while it was read");
    const std::string_view bytes(piece.data(), static_cast<std::size_t>(got));
    if (md5 != nullptr) md5->update(bytes);
    if (!write_form(form.get(), bytes)) return no_space();
    offset += got;
    count -= got;
  }
  if (!write_form(form.get(), tail) || std::fflush(form.get()) != 0) return no_space();
  return form;
}

}  // namespace millrace::cli
