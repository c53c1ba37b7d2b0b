#include "storage/writer/lock_file.h"

#include <array>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "storage/sqlite/errors.h"

namespace millrace::storage {
namespace {

constexpr std::size_t kLineBytes = 160;  // fixed length, so that a shorter record overwrites a longer one

int operation(LockFile::Mode mode) { return mode == LockFile::Mode::kShared ? LOCK_SH : LOCK_EX; }

std::string owner_line() {
  struct stat pid_namespace {};
  ::stat("/proc/self/ns/pid", &pid_namespace);
  std::array<char, 65> host{};
  ::gethostname(host.data(), host.size() - 1);
  std::string line = "pid " + std::to_string(::getpid()) + ", pid namespace " +
                     std::to_string(pid_namespace.st_ino) + ", host " + host.data();
  line.resize(kLineBytes - 1, ' ');
  return line + "\n";
}

std::string read_line(int fd) {
  std::array<char, kLineBytes> line{};
  const ssize_t got = ::pread(fd, line.data(), line.size(), 0);
  return got <= 0 ? std::string() : std::string(line.data(), static_cast<std::size_t>(got));
}

// The file as /proc/locks names it: "fd:01:1234".
std::string name_in_proc(int fd) {
  struct stat file {};
  if (::fstat(fd, &file) != 0) return {};
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "%02x:%02x:%ju", major(file.st_dev), minor(file.st_dev),
                static_cast<std::uintmax_t>(file.st_ino));
  return name.data();
}

}  // namespace

base::Result<LockFile> LockFile::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd >= 0) return LockFile(path, fd);
  return base::error(base::Code::kInternal, path + ": cannot be opened: " + system_failure(errno));
}

base::Result<LockFile> LockFile::open_existing(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd >= 0) return LockFile(path, fd);
  return base::error(errno == ENOENT ? base::Code::kNotFound : base::Code::kInternal,
                     path + ": cannot be opened: " + system_failure(errno));
}

LockFile::LockFile(std::string path, int fd) : path_(std::move(path)), fd_(fd), owner_line_(owner_line()) {}

LockFile::~LockFile() {
  if (fd_ >= 0) ::close(fd_);
}

LockFile::LockFile(LockFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      owner_line_(std::move(other.owner_line_)) {}

LockFile& LockFile::operator=(LockFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(owner_line_, other.owner_line_);
  return *this;
}

bool LockFile::try_lock(Mode mode) { return ::flock(fd_, operation(mode) | LOCK_NB) == 0; }

bool LockFile::lock(Mode mode) { return ::flock(fd_, operation(mode)) == 0; }

void LockFile::unlock() { ::flock(fd_, LOCK_UN); }

void LockFile::record_owner() const {
  if (read_line(fd_) == owner_line_) return;
  // On a full disk the record is lost, but not the lock.
  [[maybe_unused]] const ssize_t written = ::pwrite(fd_, owner_line_.data(), owner_line_.size(), 0);
}

std::string LockFile::recorded_owner() const {
  std::string line = read_line(fd_);
  line.resize(line.find_last_not_of(" \n") + 1);
  return line;
}

std::string LockFile::visible_holders() const {
  const std::string own_name = name_in_proc(fd_);
  std::ifstream locks("/proc/locks");
  std::string line, holders;
  while (std::getline(locks, line)) {
    std::istringstream fields(line);
    std::string number, type, kind, access, pid, file;
    fields >> number >> type >> kind >> access >> pid >> file;
    if (type != "FLOCK" || file != own_name || pid == std::to_string(::getpid())) continue;
    holders += (holders.empty() ? "pid " : ", pid ") + pid;
  }
  return holders;
}

}  // namespace millrace::storage
