#pragma once
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace millrace::cli {

inline constexpr std::size_t kHistoryLinesMax = 1'000;  // lines offered for recall
// Size of the file; beyond it the oldest lines are removed.
inline constexpr std::size_t kHistoryBytesMax = std::size_t{1} << 20;

// Path of the history file: $MILLRACE_CHAT_HISTORY (set but empty: no history), else millrace/chat_history in
// $XDG_STATE_HOME or ~/.local/state. Empty: no history is kept.
std::filesystem::path chat_history_file();

// Lines typed in conversations, kept across conversations in a file that only its user can read (0600).
// Several conversations may append at the same time without losing each other's lines. If the file cannot be
// read or written, the conversation works without it.
class ChatHistory {
 public:
  explicit ChatHistory(std::filesystem::path file);
  const std::vector<std::string>& lines() const { return lines_; }  // oldest first
  // False: the line is not stored, because it is blank, begins with a blank, or repeats the line before.
  bool add(const std::string& line);

 private:
  void shorten() const;
  std::filesystem::path file_;
  std::vector<std::string> lines_;
};

}  // namespace millrace::cli
