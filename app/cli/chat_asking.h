#pragma once
#include <string>

#include <nlohmann/json.hpp>

#include "app/cli/chat_body.h"
#include "app/cli/client.h"

namespace millrace::cli {

class ChatPrinter;
class Interrupt;

// How one question went.
struct ChatAsked {
  int exit_code = kOk;
  std::string text;  // of the answer, as far as it came
};

// Puts questions to one gateway and shows their answers: on stdout, all else on stderr. Blocking.
class ChatAsking {
 public:
  ChatAsking(ClientOptions options, Interrupt& interrupt, bool verbose);

  // kInterrupted: Ctrl-C has stopped it; the gateway lets the model go.
  ChatAsked ask(const ChatManner& manner, const nlohmann::json& messages);
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
  int tell_not_yet(const std::string& request_id);
  int show_whole(const Client::Answer& answer);
  int tell_end(const ChatPrinter& printer, const net::HttpReply& head);
  void tell_more(const ChatPrinter& printer, const net::HttpReply& head);

  Client client_;
  Interrupt& interrupt_;
  const bool verbose_;
};

}  // namespace millrace::cli
