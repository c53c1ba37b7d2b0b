#pragma once
#include <optional>
#include <string>
#include <vector>

#include "app/cli/client.h"
#include "app/cli/job_start.h"

namespace millrace::cli {

class Interrupt;

// Joins the arguments of a message with spaces; "-" stands for standard input. Returns kOk, or another exit
// code after printing the error to stderr; kInterrupted: Ctrl-C.
int read_message(const std::vector<std::string>& words, Interrupt& interrupt, std::string& message);

struct ChatArguments {
  std::string model;   // empty: the only chat model
  std::string system;  // empty: none
  // Arguments; "-": standard input. None: standard input, or a conversation.
  std::vector<std::string> message;
  std::vector<std::string> images;  // files, or URLs
  std::optional<int> max_tokens;
  std::optional<double> temperature;
  bool no_stream = false;
  bool deferred = false;
  JobStartFlags start;  // with `deferred`
  bool wait = false;    // with `deferred` or `result`: wait for the completion
  // Print model and tokens to stderr, and the price if the response was not streamed.
  bool verbose = false;
  std::string result;  // id of a deferred completion to fetch; no new request is sent then
};

// `millrace chat`. Returns an ExitCode. Streams the completion to stdout. Without a message, at a terminal,
// it starts a conversation (chat_talk.h).
int run_chat(const ChatArguments& arguments, ClientOptions options);

}  // namespace millrace::cli
