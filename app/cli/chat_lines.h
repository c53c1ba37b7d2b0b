#pragma once
#include <memory>
#include <string>

namespace millrace::cli {

class ChatHistory;
class Interrupt;

// The lines of a conversation, as a person types them. Blocking; one thread.
class ChatLines {
 public:
  virtual ~ChatLines() = default;
  enum class End { kLine, kNoMore, kInterrupted };
  // The next one, without its end, after `prompt` on stderr. A line that is interrupted is forgotten.
  virtual End next(const char* prompt, std::string& line) = 0;
};

// With line editing, and the lines of `history` to go back to, where standard input and error are a terminal
// that can move its cursor; else as the terminal gives them. `history` and `interrupt` outlive it.
std::unique_ptr<ChatLines> chat_lines(Interrupt& interrupt, ChatHistory& history);

}  // namespace millrace::cli
