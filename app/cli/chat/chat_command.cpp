#include "app/cli/chat/chat_command.h"

#include <algorithm>
#include <iostream>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "app/cli/chat/chat_request.h"
#include "app/cli/chat/chat_talk.h"
#include "app/cli/client.h"
#include "app/cli/interrupt.h"
#include "app/cli/program.h"

namespace millrace::cli {
namespace {

constexpr std::size_t kInputMax = std::size_t{64} << 20;  // largest request that a gateway accepts
constexpr std::size_t kInputPieceBytes = std::size_t{64} << 10;

// Reads standard input to its end. Ctrl-C interrupts it.
enum class Input { kRead, kTooLong, kInterrupted };
Input read_input(Interrupt& interrupt, std::string& to) {
  std::string piece(kInputPieceBytes, '\0');
  for (;;) {
    if (interrupt.wait_on_thread(STDIN_FILENO)) return Input::kInterrupted;
    const ssize_t got = ::read(STDIN_FILENO, piece.data(), piece.size());
    if (got <= 0) return Input::kRead;
    to.append(piece, 0, static_cast<std::size_t>(got));
    if (to.size() > kInputMax) return Input::kTooLong;
  }
}

}  // namespace

int read_message(const std::vector<std::string>& words, Interrupt& interrupt, std::string& message) {
  for (const std::string& word : words) {
    if (!message.empty() && message.back() != '\n') message += ' ';
    if (word != "-") {
      message += word;
      continue;
    }
    const Input input = read_input(interrupt, message);
    if (input == Input::kInterrupted) return kInterrupted;
    if (input == Input::kTooLong)
      return fail_usage("standard input is larger than 64 MB, the limit of a gateway");
  }
  while (message.ends_with('\n')) message.pop_back();
  if (!message.empty()) return kOk;
  const bool piped = std::ranges::find(words, "-") != words.end();
  return fail_usage(piped ? "no message: standard input is empty" : "no message: the argument is empty");
}

using nlohmann::json;
namespace {

constexpr const char* kMockPrefix = "mock/";

ChatRequestParameters manner_of(const ChatArguments& arguments, std::string model) {
  ChatRequestParameters parameters;
  parameters.model = std::move(model);
  parameters.max_tokens = arguments.max_tokens;
  parameters.temperature = arguments.temperature;
  parameters.stream = !arguments.no_stream && !arguments.deferred;
  parameters.usage = arguments.verbose;
  parameters.deferred = arguments.deferred;
  parameters.start = arguments.start;
  return parameters;
}

// Converts the images to URLs. Returns kOk, or another exit code after printing the error.
int read_images(const ChatArguments& arguments, std::vector<std::string>& urls) {
  for (const std::string& image : arguments.images) {
    auto url = image_url_of(image);
    if (!url) return fail_usage(url.error().message);
    urls.push_back(*std::move(url));
  }
  return kOk;
}

// At a terminal, a new user could mistake the echo for a model's response.
void print_if_echo(const std::string& model, const ClientOptions& options) {
  if (options.quiet || !model.starts_with(kMockPrefix) || ::isatty(STDERR_FILENO) != 1) return;
  std::cerr << model << " only repeats the message. For a real model, start the gateway with a "
            << "provider's key: OPENAI_API_KEY=… " << program() << " serve\n";
}

}  // namespace

int run_chat(const ChatArguments& arguments, ClientOptions options) {
  const bool is_deferred = arguments.deferred || !arguments.result.empty();  // else nothing is left running
  Interrupt interrupt(is_deferred ? kCutOff : std::initializer_list<int>{});
  ChatExchange chat_exchange(options, interrupt, arguments.verbose);
  if (!arguments.result.empty()) return chat_exchange.read_deferred(arguments.result, arguments.wait);
  if (arguments.start.is_set() && !arguments.deferred)
    return fail_usage("--run-at and --delay go with --deferred");
  if (arguments.wait && !arguments.deferred)
    return fail_usage("--wait goes with --deferred or with --result");
  const bool conversation = arguments.message.empty() && ::isatty(STDIN_FILENO) == 1;
  if (conversation && (arguments.deferred || !arguments.images.empty() || options.json))
    return fail_usage("--deferred, --image and --json need a message");
  const std::vector<std::string> words =
      arguments.message.empty() ? std::vector<std::string>{"-"} : arguments.message;
  std::string text;
  std::vector<std::string> images;
  int exit_code = conversation ? kOk : read_message(words, interrupt, text);
  if (exit_code == kOk) exit_code = read_images(arguments, images);
  if (exit_code != kOk) return exit_code;
  const std::string model = chat_exchange.model_for(arguments.model, exit_code);
  if (model.empty()) return exit_code;
  print_if_echo(model, options);
  const ChatRequestParameters parameters = manner_of(arguments, model);
  json messages = json::array();
  if (!arguments.system.empty()) messages.push_back(message_of("system", arguments.system));
  if (conversation) return run_conversation(chat_exchange, interrupt, parameters, std::move(messages));
  messages.push_back(user_message(text, images));
  if (arguments.deferred) return chat_exchange.defer(parameters, messages, arguments.wait);
  return chat_exchange.send(parameters, messages).exit_code;
}

}  // namespace millrace::cli
