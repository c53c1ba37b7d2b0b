#include "app/cli/chat_history.h"

#include <cstdlib>
#include <fstream>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace millrace::cli {
namespace {

constexpr const char* kHistoryName = "millrace/chat_history";

std::filesystem::path folder_named(const char* variable) {
  const char* const value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? std::filesystem::path() : std::filesystem::path(value);
}

// Appends to a file of ours alone, or makes it anew. Nobody is told that it did not work.
void write_lines(const std::filesystem::path& file, int how, std::string_view text) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | how, 0600);
  if (fd < 0) return;
  struct stat made {};
  if (::fstat(fd, &made) == 0 && S_ISREG(made.st_mode)) ::fchmod(fd, 0600);  // it may have been there
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(fd);
  if (!written && how == O_TRUNC) ::unlink(file.c_str());
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
  std::error_code unknown;
  const auto bytes = std::filesystem::file_size(file_, unknown);
  std::ifstream in(file_);
  std::string line;
  const bool is_long = !unknown && bytes > kHistoryBytesMax;
  if (is_long) in.seekg(-static_cast<std::streamoff>(kHistoryBytesMax / 2), std::ios::end);
  if (is_long) std::getline(in, line);  // the rest of one
  while (std::getline(in, line)) lines_.push_back(line);
  if (lines_.size() > kHistoryLinesMax)
    lines_.erase(lines_.begin(), lines_.end() - static_cast<std::ptrdiff_t>(kHistoryLinesMax));
  if (is_long) shorten();
}

void ChatHistory::shorten() const {
  std::string text;
  for (const std::string& line : lines_) text.append(line).append("\n");
  const std::filesystem::path fresh = file_.string() + ".new";
  write_lines(fresh, O_TRUNC, text);
  std::error_code left_long;
  std::filesystem::rename(fresh, file_, left_long);
}

bool ChatHistory::add(const std::string& line) {
  const bool has_word = line.find_first_not_of(" \t") == 0;
  if (!has_word || (!lines_.empty() && lines_.back() == line)) return false;
  lines_.push_back(line);
  if (lines_.size() > kHistoryLinesMax) lines_.erase(lines_.begin());
  if (file_.empty()) return true;
  std::error_code unwritable;
  std::filesystem::create_directories(file_.parent_path(), unwritable);
  write_lines(file_, O_APPEND, line + "\n");
  return true;
}

}  // namespace millrace::cli
