#pragma once
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "app/cli/client.h"

namespace millrace::cli {

// Removes from model text everything that moves a terminal's cursor or changes its state. `text` is UTF-8.
std::string without_controls(std::string_view text);

// How a completion is printed.
struct ChatPrintOptions {
  bool json = false;       // print each event, or the whole completion, as a line of JSON
  bool reasoning = false;  // print reasoning to `err`, dim if `color`
  bool color = false;
  bool terminal = false;  // `out` is a terminal
};

// What was received of a completion.
struct ChatReceived {
  std::string text, refusal, finish_reason, model;
  // Parameters that were dropped or changed, if no header could report them.
  std::string dropped;
  nlohmann::json usage;              // null: not reported
  std::optional<double> cost_usd;    // reported with the usage
  std::optional<ClientError> error;  // error sent in the stream
  bool whole = false;                // the completion is complete
};

// Prints one completion to a terminal or a pipe. One thread at a time.
class ChatPrinter {
 public:
  ChatPrinter(ChatPrintOptions show, std::FILE* out, std::FILE* err) : show_(show), out_(out), err_(err) {}
  // Handles one event of a stream. Always returns true (continue).
  bool take(std::string_view event, std::string_view data);
  void take_whole(const nlohmann::json& completion);
  // Ends the current output line.
  void end_line();
  const ChatReceived& received() const { return received_; }

 private:
  void take_chunk(const nlohmann::json& chunk);
  void take_choice(const nlohmann::json& choice, const nlohmann::json& message);
  void print_text(const std::string& text);
  void print_reasoning(const std::string& text);
  void end_reasoning();

  ChatPrintOptions show_;
  std::FILE* out_;
  std::FILE* err_;
  ChatReceived received_;
  bool thinking_ = false, line_open_ = false;
};

}  // namespace millrace::cli
