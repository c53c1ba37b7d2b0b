#pragma once
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>

#include "app/cli/client.h"
#include "app/cli/job_start.h"
#include "platform/base/result.h"

// The requests of `millrace chat`: POST /v1/chat/completions.
namespace millrace::cli {

// Parameters of a completion. Absent ones are left to the model.
struct ChatRequestParameters {
  std::string model = {};
  std::optional<int> max_tokens = {};
  std::optional<double> temperature = {};
  bool stream = false;
  bool usage = false;  // for a stream: request token usage
  bool deferred = false;
  JobStartFlags start = {};  // of a deferred request
};
std::string chat_body(const ChatRequestParameters& parameters, const nlohmann::json& messages);

nlohmann::json message_of(const char* role, const std::string& text);
// A user message; `image_urls` precede the text.
nlohmann::json user_message(const std::string& text, const std::vector<std::string>& image_urls);

// Returns an http or https URL unchanged; otherwise reads the file and returns a data URI with the type
// detected from its bytes. kNotFound: it cannot be read; kDocumentTooLarge; kInvalidField: it is not PNG,
// JPEG, GIF or WebP.
base::Result<std::string> image_url_of(const std::string& file_or_url);

class ChatPrinter;
class Interrupt;

// The outcome of one request.
struct ChatExchangeResult {
  int exit_code = kOk;
  std::string text;  // the completion text that was received
};

// Sends chat requests to one gateway and prints the completions: text to stdout, everything else to stderr.
// Blocking.
class ChatExchange {
 public:
  ChatExchange(ClientOptions options, Interrupt& interrupt, bool verbose);

  // Sends one request. kInterrupted: Ctrl-C stopped it; the gateway cancels the provider's request.
  ChatExchangeResult send(const ChatRequestParameters& parameters, const nlohmann::json& messages);
  // Submits a deferred request and prints its id, or waits for the completion and prints that.
  int defer(const ChatRequestParameters& parameters, const nlohmann::json& messages, bool wait);
  // Prints a deferred completion if it is ready. Otherwise waits for it, at a terminal or with `wait`; in any
  // other case returns kNotYet. Ctrl-C stops waiting and does not cancel the request. While it waits, it
  // retries if the gateway is temporarily unreachable.
  int read_deferred(const std::string& request_id, bool wait);
  // The model to use: `requested`, or the only chat model. Empty: the reason was printed to stderr, and
  // `exit_code` is set.
  std::string model_for(const std::string& requested, int& exit_code);

 private:
  int fail_with_advice(const ClientError& error) const;
  int await(const std::string& request_id, int faults_left);
  int print_not_yet(const std::string& request_id);
  int show_whole(const Client::Response& answer);
  int deliver_end(const ChatPrinter& printer, const net::HttpReply& head);
  void print_more(const ChatPrinter& printer, const net::HttpReply& head);

  Client client_;
  Interrupt& interrupt_;
  const bool verbose_;
};

}  // namespace millrace::cli
