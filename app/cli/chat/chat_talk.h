#pragma once
#include <memory>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/chat/chat_request.h"

namespace millrace::cli {

// A user message typed in one line or in several. A backslash at the end of a line joins the next line to it.
// Text between two """ is one message with its line breaks.
class ChatQuestion {
 public:
  // True: the message is complete, and `take` returns it.
  bool add(std::string_view line);
  bool is_open() const { return open_; }  // more lines are needed
  std::string take();
  void forget() { take(); }

 private:
  bool add_quoted(std::string_view line);
  std::string text_;
  bool open_ = false, quoted_ = false;
};

class ChatHistory;
class Interrupt;

// Input lines of a conversation. Blocking; one thread.
class ChatLines {
 public:
  virtual ~ChatLines() = default;
  enum class End { kLine, kNoMore, kInterrupted };
  // Prints `prompt` to stderr and reads the next line, without its newline. A line that Ctrl-C interrupts is
  // discarded.
  virtual End next(const char* prompt, std::string& line) = 0;
};

// Returns a reader with line editing and recall of `history` if standard input and error are a terminal that
// can move its cursor; otherwise a reader of plain lines. `history` and `interrupt` must outlive it.
std::unique_ptr<ChatLines> chat_lines(Interrupt& interrupt, ChatHistory& history);

// A reader with line editing by libedit: its key bindings and those of the user's ~/.editrc. REQUIRES:
// standard input and error are a terminal. Sets the program's LC_CTYPE. Null: libedit cannot be initialised.
std::unique_ptr<ChatLines> edited_lines(Interrupt& interrupt, ChatHistory& history);

// A conversation at a terminal. Each ChatQuestion of standard input is sent with the messages before it.
// Ctrl-D or `/exit` ends it with kOk; `/help` lists the keys. Ctrl-C during a response stops it; the part
// that was received stays in the conversation. Ctrl-C at the prompt discards the line; a second one in a row
// ends with kInterrupted. If a request fails, its error is printed and its message is dropped. Before the
// first response, an error that no other message can fix (key, model, connection) ends the conversation with
// its exit code. `messages` precede the first one.
int run_conversation(ChatExchange& chat_exchange, Interrupt& interrupt,
                     const ChatRequestParameters& parameters, nlohmann::json messages);

}  // namespace millrace::cli
