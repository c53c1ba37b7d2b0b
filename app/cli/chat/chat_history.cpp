#include "app/cli/chat/chat_history.h"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace millrace::cli {
namespace {

constexpr const char* kHistoryName = "millrace/chat_history";

std::filesystem::path folder_named(const char* variable) {
  const char* const value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? std::filesystem::path() : std::filesystem::path(value);
}

constexpr int kLockAttempts = 100;
constexpr int kLockAgainMs = 10;

// True also if the file system has no locks. False: another process held the lock for too long.
bool lock_history(int fd) {
  for (int i = 0; i < kLockAttempts; ++i) {
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return true;
    ::poll(nullptr, 0, kLockAgainMs);
  }
  return false;
}

// The history file, open to append or read, readable only by its user. One conversation at a time holds its
// lock, so that no line is appended to a file that another one is replacing.
class LockedFile {
 public:
  LockedFile(const std::filesystem::path& file, int how) {
    for (int i = 0; i < kLockAttempts && fd_ < 0; ++i) {
      fd_ = ::open(file.c_str(), O_CLOEXEC | how, 0600);
      if (fd_ < 0) return;
      is_held_ = lock_history(fd_);
      struct stat seen {};
      if (::fstat(fd_, &seen) != 0 || seen.st_nlink > 0) return;
      ::close(std::exchange(fd_, -1));  // the file was replaced while we waited
    }
  }
  ~LockedFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  int fd() const { return fd_; }  // -1: no file
  bool is_held() const { return fd_ >= 0 && is_held_; }

 private:
  int fd_ = -1;
  bool is_held_ = false;
};

bool write_text(int fd, std::string_view text) {
  struct stat made {};
  // The file may have existed with another mode.
  if (::fstat(fd, &made) == 0 && S_ISREG(made.st_mode)) ::fchmod(fd, 0600);
  return ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// Errors are not reported.
void replace(const std::filesystem::path& file, std::string_view text) {
  const std::filesystem::path temporary_path = file.string() + ".new";
  const int fd = ::open(temporary_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return;
  const bool written = write_text(fd, text);
  ::close(fd);
  std::error_code left_long;
  if (written) std::filesystem::rename(temporary_path, file, left_long);
  if (!written || left_long) ::unlink(temporary_path.c_str());
}

bool is_long(const std::filesystem::path& file) {
  std::error_code unknown;
  const auto bytes = std::filesystem::file_size(file, unknown);
  return !unknown && bytes > kHistoryBytesMax;
}

// Reads the newest lines, oldest first.
std::vector<std::string> newest_lines(const std::filesystem::path& file) {
  const bool cut = is_long(file);
  std::vector<std::string> lines;
  std::ifstream in(file);
  std::string line;
  if (cut) in.seekg(-static_cast<std::streamoff>(kHistoryBytesMax / 2), std::ios::end);
  if (cut) std::getline(in, line);  // the rest of a line that was cut
  while (std::getline(in, line)) lines.push_back(line);
  if (lines.size() > kHistoryLinesMax)
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(kHistoryLinesMax));
  return lines;
}

}  // namespace

std::filesystem::path chat_history_file() {
  if (std::getenv("MILLRACE_CHAT_HISTORY") != nullptr)  // NOLINT(concurrency-mt-unsafe)
    return folder_named("MILLRACE_CHAT_HISTORY");
  if (const auto state = folder_named("XDG_STATE_HOME"); state.is_absolute()) return state / kHistoryName;
  const auto home = folder_named("HOME");
  return home.is_absolute() ? home / ".local/state" / kHistoryName : std::filesystem::path();
}

ChatHistory::ChatHistory(std::filesystem::path file) : file_(std::move(file)) {
  if (file_.empty()) return;
  if (is_long(file_)) shorten();
  lines_ = newest_lines(file_);
}

// Another conversation may have shortened the file since it was read.
void ChatHistory::shorten() const {
  const LockedFile held(file_, O_RDONLY);
  if (!held.is_held() || !is_long(file_)) return;
  std::string text;
  for (const std::string& line : newest_lines(file_)) text.append(line).append("\n");
  replace(file_, text);
}

bool ChatHistory::add(const std::string& line) {
  const bool has_word = line.find_first_not_of(" \t") == 0;
  if (!has_word || (!lines_.empty() && lines_.back() == line)) return false;
  lines_.push_back(line);
  if (lines_.size() > kHistoryLinesMax) lines_.erase(lines_.begin());
  if (file_.empty()) return true;
  std::error_code unwritable;
  std::filesystem::create_directories(file_.parent_path(), unwritable);
  const LockedFile held(file_, O_WRONLY | O_APPEND | O_CREAT);
  if (held.fd() >= 0) write_text(held.fd(), line + "\n");
  return true;
}

}  // namespace millrace::cli
