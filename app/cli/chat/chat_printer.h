#pragma once
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "app/cli/client.h"

namespace millrace::cli {

// Model texts on a terminal: without what moves its cursor or changes its state. `text` is UTF-8.
std::string without_controls(std::string_view text);

// How an answer is shown.
struct ChatShow {
  bool json = false;       // each event, or the whole completion, as a line of JSON
  bool reasoning = false;  // on `err`, dim if `color`
  bool color = false;
  bool terminal = false;  // `out` is one
};

// What was heard of an answer.
struct ChatReceived {
  std::string text, refusal, finish_reason, model;
  std::string dropped;               // what the model was not told as asked, where no header could say it
  nlohmann::json usage;              // null: not said
  std::optional<double> cost_usd;    // said beside it
  std::optional<ClientError> error;  // the stream's own
  bool whole = false;                // it came to its end
};

// One answer on its way to a person, or to a pipe. One thread at a time.
class ChatPrinter {
 public:
  ChatPrinter(ChatShow show, std::FILE* out, std::FILE* err) : show_(show), out_(out), err_(err) {}
  // An event of a stream; always true: more is wanted.
  bool take(std::string_view event, std::string_view data);
  void take_whole(const nlohmann::json& completion);
  // Ends the line that the answer stands in.
  void settle();
  const ChatReceived& heard() const { return heard_; }

 private:
  void take_chunk(const nlohmann::json& chunk);
  void take_choice(const nlohmann::json& choice, const nlohmann::json& message);
  void say(const std::string& text);
  void think(const std::string& text);
  void end_thought();

  ChatShow show_;
  std::FILE* out_;
  std::FILE* err_;
  ChatReceived heard_;
  bool thinking_ = false, line_open_ = false;
};

}  // namespace millrace::cli
