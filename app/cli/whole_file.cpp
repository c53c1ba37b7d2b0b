#include "app/cli/whole_file.h"

#include <algorithm>
#include <cerrno>
#include <fstream>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "app/cli/interrupt.h"

namespace millrace::cli {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kReadPieceBytes = std::size_t{1} << 20;
constexpr int kLookForInterruptMs = 100;

bool wait_for_more(int fd) {
  pollfd input{fd, POLLIN, 0};
  while (::poll(&input, 1, kLookForInterruptMs) <= 0) {
    if (interrupt_waits()) return false;
  }
  return true;
}

// Appends available bytes. 0: end of file; -1: it cannot be read.
ssize_t read_piece(int fd, std::string& bytes) {
  if (!wait_for_more(fd)) return -1;
  const std::size_t had = bytes.size();
  bytes.resize(had + kReadPieceBytes);
  const ssize_t got = ::read(fd, bytes.data() + had, kReadPieceBytes);
  bytes.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return got;
}

// Opens without blocking: opening a pipe without a writer would block. A socket cannot be opened by its name,
// not even as standard input.
int open_to_read(const fs::path& file) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  return fd < 0 && errno == ENXIO && file == "/dev/stdin" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : fd;
}

}  // namespace

base::Result<std::string> read_whole(const fs::path& file, std::size_t bytes_max,
                                     const base::Error& too_large) {
  std::error_code unknown;  // a pipe has no size; its bytes are counted while they are read
  const std::uintmax_t size = fs::file_size(file, unknown);
  if (!unknown && size > bytes_max) return too_large;
  const int in = open_to_read(file);
  std::string bytes;
  ssize_t got = in < 0 ? -1 : 1;
  while (got > 0 && bytes.size() <= bytes_max) got = read_piece(in, bytes);
  if (in >= 0) ::close(in);
  if (bytes.size() > bytes_max) return too_large;
  if (got < 0) return base::error(base::Code::kNotFound, "cannot read the file");
  return bytes;
}

base::Status write_whole(const fs::path& file, const std::string& bytes) {
  const base::Error failure = base::error(base::Code::kInternal, "cannot write " + file.string());
  std::error_code failed;
  fs::create_directories(file.parent_path(), failed);
  const fs::path temporary_path = file.string() + ".part";
  std::ofstream out(temporary_path, std::ios::binary | std::ios::trunc);
  out << bytes;
  out.close();
  if (!out) return failure;
  fs::rename(temporary_path, file, failed);
  return failed ? base::Status(failure) : base::Status();
}

std::string file_stamp(const fs::path& file) {
  std::error_code failed;
  const auto size = fs::file_size(file, failed);
  const auto written = fs::last_write_time(file, failed).time_since_epoch().count();
  return std::to_string(size) + "-" + std::to_string(written);
}

}  // namespace millrace::cli
