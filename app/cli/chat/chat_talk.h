#pragma once
#include <memory>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/chat/chat_request.h"

namespace millrace::cli {

// A question that is typed in one line or in several: a backslash at the end of a line joins the next one to
// it, and what stands between two """ is one text, its lines as they are.
class ChatQuestion {
 public:
  // True: it is whole, and `take` gives it.
  bool add(std::string_view line);
  bool is_open() const { return open_; }  // lines are to come
  std::string take();
  void forget() { take(); }

 private:
  bool add_quoted(std::string_view line);
  std::string text_;
  bool open_ = false, quoted_ = false;
};

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

// Lines that are edited where they are typed, by libedit: its keys, and those of the user's ~/.editrc.
// REQUIRES: standard input and error are a terminal. Sets the program's LC_CTYPE. Null: libedit cannot.
std::unique_ptr<ChatLines> edited_lines(Interrupt& interrupt, ChatHistory& history);

// A conversation at a terminal: a line of standard input is a question (ChatQuestion: or several), and what
// was said before goes with it. Lines are edited and gone back to as ChatLines and ChatHistory say. Ctrl-D or
// `/exit` ends it with kOk, `/help` tells of both. Ctrl-C stops an answer, of which the model is reminded as
// far as it came; at a question it forgets the line, and a second one in a row leaves with kInterrupted. A
// question that fails is told and forgotten; before the first answer, one that no question can mend (key,
// model, connection) ends it with its exit code. `messages` are said before the first.
int talk(ChatExchange& asking, Interrupt& interrupt, const ChatManner& manner, nlohmann::json messages);

}  // namespace millrace::cli
