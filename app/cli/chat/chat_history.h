#pragma once
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace millrace::cli {

inline constexpr std::size_t kHistoryLinesMax = 1'000;                 // that are gone back to
inline constexpr std::size_t kHistoryBytesMax = std::size_t{1} << 20;  // of the file; past it the oldest go

// $MILLRACE_CHAT_HISTORY (empty: nothing is kept), else millrace/chat_history in $XDG_STATE_HOME or
// ~/.local/state. Empty: nowhere.
std::filesystem::path chat_history_file();

// Lines that were typed in conversations, from one to the next, in a file that its user alone reads (0600).
// Several conversations may add to it at once, and none loses another's lines. A file that cannot be read or
// written is done without.
class ChatHistory {
 public:
  explicit ChatHistory(std::filesystem::path file);
  const std::vector<std::string>& lines() const { return lines_; }  // oldest first
  // False: nothing to remember: a line without a word, one that begins with a blank, or the one before again.
  bool add(const std::string& line);

 private:
  void shorten() const;
  std::filesystem::path file_;
  std::vector<std::string> lines_;
};

}  // namespace millrace::cli
