#include "app/models/partial_download.h"

#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace millrace::app {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 20;
constexpr mode_t kDownloadMode = 0666;  // reduced by the umask
constexpr const char* kPartEnding = ".part";

std::string file_path(const std::string& folder, const std::string& name) { return folder + "/" + name; }

base::Error cannot_write(const std::string& path, int number) {
  return base::error(base::Code::kInternal,
                     "cannot write " + path + ": " + std::generic_category().message(number));
}

// Adds the file's bytes to `hash`. Returns their number; -1: errno has the error.
std::int64_t read_into(int file, base::Sha256& hash) {
  std::vector<char> buffer(kReadBytes);
  std::int64_t sum = 0;
  for (;;) {
    const ssize_t got = ::read(file, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) return sum;
    hash.update(std::string_view(buffer.data(), static_cast<std::size_t>(got)));
    sum += got;
  }
}

}  // namespace

PartialDownload::PartialDownload(base::Fd file, std::string folder, const CatalogueFile& listed)
    : file_(std::move(file)), folder_(std::move(folder)), listed_(&listed) {}

base::Result<PartialDownload> PartialDownload::open(const std::string& folder, const CatalogueFile& file) {
  const std::string path = file_path(folder, file.name + kPartEnding);
  base::Fd opened(
      ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, kDownloadMode));
  struct stat status {};
  if (!opened || ::fstat(opened.get(), &status) != 0) return cannot_write(path, errno);
  if (!S_ISREG(status.st_mode)) return cannot_write(path, EEXIST);
  PartialDownload part(std::move(opened), folder, file);
  if (status.st_size > file.bytes) part.restart();
  if (base::Status read = part.read_existing(); !read) return read.error();
  return part;
}

base::Status PartialDownload::read_existing() {
  bytes_ = read_into(file_.get(), hash_);
  if (bytes_ < 0) return cannot_write(file_path(folder_, listed_->name + kPartEnding), errno);
  is_from_before_ = bytes_ > 0;
  return {};
}

bool PartialDownload::write(std::string_view bytes) {
  while (problem_ == 0 && !bytes.empty()) {
    const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      problem_ = errno;
      break;
    }
    const auto count = static_cast<std::size_t>(written);
    hash_.update(bytes.substr(0, count));
    bytes_ += written;
    bytes.remove_prefix(count);
  }
  return problem_ == 0;
}

base::Status PartialDownload::problem() const {
  if (problem_ == 0) return {};
  return cannot_write(file_path(folder_, listed_->name), problem_);
}

void PartialDownload::restart() {
  if (::ftruncate(file_.get(), 0) != 0 || ::lseek(file_.get(), 0, SEEK_SET) != 0) problem_ = errno;
  hash_ = base::Sha256();
  bytes_ = 0;
  is_from_before_ = false;
}

bool PartialDownload::is_correct() {
  return bytes_ == listed_->bytes && base::hex(hash_.finish()) == listed_->sha256;
}

base::Status PartialDownload::finish() {
  const std::string path = file_path(folder_, listed_->name);
  if (::fsync(file_.get()) != 0) return cannot_write(path, errno);
  if (::rename((path + kPartEnding).c_str(), path.c_str()) != 0) return cannot_write(path, errno);
  const base::Fd folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || ::fsync(folder.get()) != 0) return cannot_write(path, errno);
  return {};
}

void PartialDownload::remove() { ::unlink(file_path(folder_, listed_->name + kPartEnding).c_str()); }

bool is_downloaded(const std::string& folder, const CatalogueFile& file) {
  const base::Fd opened(::open(file_path(folder, file.name).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!opened || ::fstat(opened.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  if (status.st_size != file.bytes) return false;
  base::Sha256 hash;
  return read_into(opened.get(), hash) == file.bytes && base::hex(hash.finish()) == file.sha256;
}

}  // namespace millrace::app
