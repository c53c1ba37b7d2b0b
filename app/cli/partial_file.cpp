#include "app/cli/partial_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/base/crypto.h"
#include "platform/base/ids.h"

namespace millrace::cli {
namespace {

constexpr std::size_t kPartialBytes = 8;                    // length of the random part of its name
constexpr mode_t kFolderMode = 0777, kOpenFileMode = 0666;  // reduced by the umask

base::Error cannot(const std::string& what, int number) {
  return base::error(base::Code::kInternal, "cannot write " + what + ": " + std::strerror(number));  // NOLINT
}

// Opens the folder `name` in `parent` and creates it if it is missing. -1: errno has the error. Closes
// `parent`.
int enter(int parent, const std::string& name) {
  const bool made = ::mkdirat(parent, name.c_str(), kFolderMode) == 0 || errno == EEXIST;
  const int folder =
      made ? ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
  const int why = errno;
  ::close(parent);
  errno = why;
  return folder;
}

}  // namespace

std::optional<std::vector<std::string>> path_below(std::string_view name) {
  std::vector<std::string> parts;
  for (std::string_view rest = name;;) {
    const std::size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    const bool bad = part.empty() || part == "." || part == ".." || part.find('\0') != std::string_view::npos;
    if (bad) return std::nullopt;
    parts.emplace_back(part);
    if (slash == std::string_view::npos) return parts;
    rest.remove_prefix(slash + 1);
  }
}

PartialFile::PartialFile(int folder, std::string name, std::string shown)
    : folder_(folder), name_(std::move(name)), shown_(std::move(shown)) {}

PartialFile::PartialFile(PartialFile&& other) noexcept
    : folder_(std::exchange(other.folder_, -1)),
      file_(std::exchange(other.file_, -1)),
      name_(std::move(other.name_)),
      partial_(std::exchange(other.partial_, {})),
      shown_(std::move(other.shown_)),
      problem_(other.problem_) {}

PartialFile::~PartialFile() {
  if (file_ >= 0) ::close(file_);
  if (!partial_.empty()) ::unlinkat(folder_, partial_.c_str(), 0);
  if (folder_ >= 0) ::close(folder_);
}

base::Result<PartialFile> PartialFile::below(const std::string& folder, const std::string& name) {
  const auto parts = path_below(name);
  const std::string shown = (std::filesystem::path(folder) / name).string();
  if (!parts) return base::error(base::Code::kInternal, "\"" + name + "\" leads outside of " + folder);
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  int at = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (std::size_t i = 0; at >= 0 && i + 1 < parts->size(); ++i) at = enter(at, (*parts)[i]);
  if (at < 0) return cannot(shown, errno);
  PartialFile file(at, parts->back(), shown);
  if (const base::Status opened = file.open(); !opened) return opened.error();
  return file;
}

base::Result<PartialFile> PartialFile::at(const std::string& path) {
  const std::filesystem::path whole(path);
  const std::string parent = whole.parent_path().empty() ? "." : whole.parent_path().string();
  const int folder = ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return cannot(path, errno);
  PartialFile file(folder, whole.filename().string(), path);
  // A device or a pipe is written to directly, because it cannot be replaced.
  std::error_code failed;
  const auto kind = std::filesystem::status(whole, failed).type();
  const bool is_stream =
      !failed && (kind == std::filesystem::file_type::character || kind == std::filesystem::file_type::fifo);
  if (is_stream) {
    file.file_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file.file_ < 0) return cannot(path, errno);
    return file;
  }
  if (const base::Status opened = file.open(); !opened) return opened.error();
  return file;
}

base::Status PartialFile::open() {
  std::string name = ".millrace-" + base::hex(base::random_bytes(kPartialBytes)) + ".part";
  file_ =
      ::openat(folder_, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kOpenFileMode);
  if (file_ < 0) return failure(errno);
  partial_ = std::move(name);
  return {};
}

bool PartialFile::write(std::string_view bytes) {
  while (problem_ == 0 && !bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) problem_ = errno;
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return problem_ == 0;
}

base::Status PartialFile::finish() {
  if (problem_ != 0) return failure(problem_);
  if (::close(std::exchange(file_, -1)) != 0) return failure(errno);
  if (partial_.empty()) return {};
  if (::renameat(folder_, partial_.c_str(), folder_, name_.c_str()) != 0) return failure(errno);
  partial_.clear();
  return {};
}

base::Error PartialFile::failure(int number) const { return cannot(shown_, number); }

}  // namespace millrace::cli
