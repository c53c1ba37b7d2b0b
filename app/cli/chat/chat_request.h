#pragma once
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>

#include "app/cli/client.h"
#include "platform/base/result.h"

// What `millrace chat` asks: the body of POST /v1/chat/completions.
namespace millrace::cli {

// How an answer is wanted; absent ones are left to the model.
struct ChatManner {
  std::string model = {};
  std::optional<int> max_tokens = {};
  std::optional<double> temperature = {};
  bool stream = false;
  bool usage = false;  // of a stream: with its tokens
  bool deferred = false;
};
std::string chat_body(const ChatManner& manner, const nlohmann::json& messages);

nlohmann::json message_of(const char* role, const std::string& text);
// Of the user; `image_urls` stand before the text.
nlohmann::json user_message(const std::string& text, const std::vector<std::string>& image_urls);

// An http or https URL as it is; else the file's bytes as a data URI of the type that they show. kNotFound:
// it cannot be read; kDocumentTooLarge; kInvalidField: no PNG, JPEG, GIF or WebP.
base::Result<std::string> image_url_of(const std::string& file_or_url);

class ChatPrinter;
class Interrupt;

// How one question went.
struct ChatExchangeResult {
  int exit_code = kOk;
  std::string text;  // of the answer, as far as it came
};

// Puts questions to one gateway and shows their answers: on stdout, all else on stderr. Blocking.
class ChatExchange {
 public:
  ChatExchange(ClientOptions options, Interrupt& interrupt, bool verbose);

  // kInterrupted: Ctrl-C has stopped it; the gateway lets the model go.
  ChatExchangeResult ask(const ChatManner& manner, const nlohmann::json& messages);
  // Hands a deferred request in and prints its id, or waits for its answer and shows that.
  int defer(const ChatManner& manner, const nlohmann::json& messages, bool wait);
  // The answer of a deferred request, if it is there; else, at a terminal or with `wait`, once it is, and
  // kNotYet in any other case. Ctrl-C leaves it alone. Rides out a gateway that goes and comes back while it
  // is waited for.
  int read_deferred(const std::string& request_id, bool wait);
  // The model that is meant: `wanted`, or the only one that chats. Empty: it has been said on stderr why
  // not, and `exit_code` is what that means.
  std::string model_for(const std::string& wanted, int& exit_code);

 private:
  int fail_with_advice(const ClientError& error) const;
  int await(const std::string& request_id, int faults_left);
  int print_not_yet(const std::string& request_id);
  int show_whole(const Client::Answer& answer);
  int deliver_end(const ChatPrinter& printer, const net::HttpReply& head);
  void print_more(const ChatPrinter& printer, const net::HttpReply& head);

  Client client_;
  Interrupt& interrupt_;
  const bool verbose_;
};

}  // namespace millrace::cli
