#pragma once
#include <optional>
#include <string>
#include <vector>

#include "app/cli/client.h"

namespace millrace::cli {

class Interrupt;

// The words of a message with a space between them, "-" being standard input. kOk, or what is wrong has been
// said on stderr; kInterrupted: Ctrl-C.
int read_message(const std::vector<std::string>& words, Interrupt& interrupt, std::string& message);

struct ChatArguments {
  std::string model;                 // empty: the only one that chats
  std::string system;                // empty: none
  std::vector<std::string> message;  // words; "-": standard input. None: standard input, or a conversation
  std::vector<std::string> images;   // files, or URLs
  std::optional<int> max_tokens;
  std::optional<double> temperature;
  bool no_stream = false;
  bool deferred = false;
  bool wait = false;     // of a deferred one, and of `result`: until the answer is there
  bool verbose = false;  // model and tokens on stderr, and the price of an answer that came whole
  std::string result;    // id of a deferred request whose answer is wanted; nothing is asked then
};

// `millrace chat`; returns an ExitCode. The answer comes on stdout as it is made. Without a message, at a
// terminal, a conversation (chat_talk.h).
int run_chat(const ChatArguments& wish, ClientOptions options);

}  // namespace millrace::cli
