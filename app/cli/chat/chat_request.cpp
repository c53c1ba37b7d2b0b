#include "app/cli/chat/chat_request.h"

#include <cstdlib>
#include <iostream>
#include <string_view>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "app/cli/backoff.h"
#include "app/cli/batch/ocr_command.h"
#include "app/cli/chat/chat_printer.h"
#include "app/cli/chat/models_command.h"
#include "app/cli/cut_off.h"
#include "app/cli/interrupt.h"
#include "app/cli/json_cells.h"
#include "app/cli/program.h"
#include "app/cli/terminal.h"
#include "platform/base/base64.h"
#include "schemas/chat/chat_job.h"

namespace millrace::cli {

using nlohmann::json;
namespace {

constexpr std::string_view kPng = "\x89PNG\r\n\x1a\n";
constexpr std::string_view kJpeg = "\xff\xd8\xff";
constexpr std::size_t kWebpAt = 8;  // RIFF, a length, WEBP

// The image's media type. Empty: no type that models accept.
std::string_view image_type(std::string_view bytes) {
  if (bytes.starts_with(kPng)) return "image/png";
  if (bytes.starts_with(kJpeg)) return "image/jpeg";
  if (bytes.starts_with("GIF87a") || bytes.starts_with("GIF89a")) return "image/gif";
  const bool is_webp = bytes.starts_with("RIFF") && bytes.substr(0, kWebpAt + 4).ends_with("WEBP");
  return is_webp ? "image/webp" : "";
}

}  // namespace

std::string chat_body(const ChatRequestParameters& parameters, const json& messages) {
  json body = {{"model", parameters.model}, {"messages", messages}};
  if (parameters.max_tokens) body["max_completion_tokens"] = *parameters.max_tokens;
  if (parameters.temperature) body["temperature"] = *parameters.temperature;
  if (parameters.deferred) body["deferred"] = true;
  parameters.start.add_to(body);
  if (parameters.stream) body["stream"] = true;
  if (parameters.stream && parameters.usage) body["stream_options"] = {{"include_usage", true}};
  return local_json(body);
}

json message_of(const char* role, const std::string& text) { return {{"role", role}, {"content", text}}; }

json user_message(const std::string& text, const std::vector<std::string>& image_urls) {
  if (image_urls.empty()) return message_of("user", text);
  json parts = json::array();
  for (const std::string& url : image_urls)
    parts.push_back({{"type", "image_url"}, {"image_url", {{"url", url}}}});
  parts.push_back({{"type", "text"}, {"text", text}});
  return {{"role", "user"}, {"content", parts}};
}

base::Result<std::string> image_url_of(const std::string& file_or_url) {
  if (file_or_url.starts_with("https://") || file_or_url.starts_with("http://")) return file_or_url;
  auto bytes = read_document(file_or_url);
  if (!bytes) return base::error(bytes.error().code, file_or_url + ": " + bytes.error().message);
  const std::string_view type = image_type(*bytes);
  if (type.empty())
    return base::error(base::Code::kInvalidField, file_or_url + " is not a PNG, JPEG, GIF or WebP image");
  return "data:" + std::string(type) + ";base64," + base::base64_encode(*bytes);
}

using nlohmann::json;
namespace {

constexpr const char* kPath = "/v1/chat/completions";
constexpr const char* kDroppedHeader = "x-millrace-dropped-params";
constexpr const char* kDeferredPath = "/v1/chat/deferred-completion/";
constexpr std::chrono::milliseconds kPauseMax{2'000};
constexpr int kPending = 202;
constexpr int kFaultsMax = 60;  // failed polls in a row; about two minutes

ChatPrintOptions show_of(const ClientOptions& options) {
  const bool at_terminal = ::isatty(STDERR_FILENO) == 1;
  ChatPrintOptions show;
  show.json = options.json;
  show.reasoning = at_terminal && !options.quiet;
  show.color =
      moves_cursor(STDERR_FILENO) && !options.no_color && std::getenv("NO_COLOR") == nullptr;  // NOLINT
  show.terminal = ::isatty(STDOUT_FILENO) == 1;
  return show;
}

// Reports a completion that was cut or filtered, so that it is not mistaken for a complete one.
int print_short(const ChatReceived& received) {
  if (!received.refusal.empty()) {
    std::cerr << "millrace: the model refused: " << without_controls(received.refusal) << '\n';
    return kFailed;
  }
  if (received.finish_reason == "content_filter") {
    std::cerr << "millrace: the provider's filter ended the answer (content_filter)\n";
    return kFailed;
  }
  if (received.finish_reason == "length")
    std::cerr << "millrace: the answer reached its token limit (length; --max-tokens)\n";
  return kOk;
}

std::string count_of(const json& usage, const char* name) {
  const auto found = usage.find(name);
  return found != usage.end() && found->is_number_integer() ? std::to_string(found->get<std::int64_t>())
                                                            : "?";
}

void add_header_text(std::string& to, const net::HttpReply& head, const char* name, const char* before,
                     const char* after) {
  const std::string_view value = head.header(name);
  if (!value.empty()) to.append(before).append(value).append(after);
}

}  // namespace

ChatExchange::ChatExchange(ClientOptions options, Interrupt& interrupt, bool verbose)
    : client_(std::move(options), &interrupt), interrupt_(interrupt), verbose_(verbose) {}

ChatExchangeResult ChatExchange::send(const ChatRequestParameters& parameters, const json& messages) {
  ChatPrinter printer(show_of(client_.options()), stdout, stderr);
  Client::Response answer;
  if (parameters.stream) {
    const auto take = [&printer](std::string_view, std::string_view event, std::string_view data) {
      return printer.take(event, data);
    };
    answer = client_.request_stream(kPath, chat_body(parameters, messages), take);
  } else {
    answer = client_.post_and_wait(kPath, chat_body(parameters, messages));
    if (answer.ok) printer.take_whole(*answer.json);
  }
  printer.end_line();
  ChatExchangeResult result{kOk, printer.received().text};
  if (answer.error.exit_code == kInterrupted) {
    result.exit_code = kInterrupted;
  } else {
    result.exit_code = answer.ok ? deliver_end(printer, answer.reply) : fail_with_advice(answer.error);
  }
  return result;
}

int ChatExchange::fail_with_advice(const ClientError& error) const {
  print_error(error);
  if (error.code == base::name(base::Code::kModelNotFound)) std::cerr << models_advice(client_.options());
  return error.exit_code;
}

int ChatExchange::deliver_end(const ChatPrinter& printer, const net::HttpReply& head) {
  const ChatReceived& received = printer.received();
  ClientError error{kServerError, 0, {}, "the answer ended early", {}, true};
  if (received.error) error = *received.error;
  error.request_id = head.header("x-request-id");
  if (received.error || !received.whole) return fail_with_advice(error);
  print_more(printer, head);
  return print_short(received);
}

// Always reports parameters that were dropped; the other details only with --verbose.
void ChatExchange::print_more(const ChatPrinter& printer, const net::HttpReply& head) {
  const ChatReceived& received = printer.received();
  std::string_view dropped = head.header(kDroppedHeader);
  if (dropped.empty()) dropped = received.dropped;
  if (!dropped.empty() && !client_.options().quiet)
    std::cerr << "millrace: not sent as requested: " << dropped << '\n';
  if (!verbose_) return;
  const std::string_view named = head.header("x-millrace-model");
  std::string line = named.empty() ? received.model : std::string(named);
  if (received.usage.is_object())
    line += " · " + count_of(received.usage, "prompt_tokens") + " + " +
            count_of(received.usage, "completion_tokens") + " tokens";
  add_header_text(line, head, "x-millrace-attempts", " · attempt ", "");
  add_header_text(line, head, "x-millrace-cost-usd", " · $", "");
  if (received.cost_usd) line += " · $" + schemas::dollars(*received.cost_usd);
  add_header_text(line, head, "x-request-id", " · request ", "");
  std::cerr << line << '\n';
}

int ChatExchange::defer(const ChatRequestParameters& parameters, const json& messages, bool wait) {
  const auto answer = client_.request("POST", kPath, chat_body(parameters, messages), fresh_key_header());
  if (!answer.ok) return fail_with_advice(answer.error);
  const std::string id = answer.json->value("request_id", "");
  if (id.empty()) return fail(client_.no_gateway("its answer has no `request_id`"));
  if (wait) return await(id, kFaultsMax);
  return print_made((client_.options().json ? answer.reply.body : id) + '\n',
                    goes_on_text({id}, gateway_options(client_.options())));
}

int ChatExchange::read_deferred(const std::string& request_id, bool wait) {
  if (wait || ::isatty(STDERR_FILENO) == 1) return await(request_id, 0);
  const auto answer = client_.request("GET", kDeferredPath + percent_encoded(request_id));
  if (!answer.ok) return fail_with_advice(answer.error);
  return answer.reply.status == kPending ? print_not_yet(request_id) : show_whole(answer);
}

// The key may not have the scope to read jobs; then the status is left out.
int ChatExchange::print_not_yet(const std::string& request_id) {
  const auto job = client_.request("GET", "/v1/jobs/" + percent_encoded(request_id));
  const std::string status = job.ok ? text_at(*job.json, "status") : "";
  std::cerr << "millrace: not yet" << (status.empty() ? "" : " (" + status + ")")
            << "; --wait waits for it\n";
  return kNotYet;
}

// Retries while the gateway is unreachable, if it has responded before.
int ChatExchange::await(const std::string& request_id, int faults_left) {
  WaitingLine waiting("waiting for " + request_id + "…", client_.options().quiet);
  Backoff pause;
  for (;;) {
    const auto answer = client_.request("GET", kDeferredPath + percent_encoded(request_id));
    if (answer.ok && answer.reply.status != kPending) return waiting.clear(), show_whole(answer);
    if (answer.ok) faults_left = kFaultsMax;
    const bool stopped = answer.error.exit_code == kInterrupted;
    const bool is_fault = answer.error.transient && faults_left-- > 0;
    if (!answer.ok && !stopped && !is_fault) return waiting.clear(), fail_with_advice(answer.error);
    waiting.show();
    if (!stopped && !interrupt_.wait(pause.next(kPauseMax))) continue;
    waiting.clear();
    if (const auto cut_off = cut_off_by(interrupt_))
      return fail_cut_off(*cut_off, goes_on_text({request_id}, gateway_options(client_.options())));
    std::cerr << "The chat continues in the gateway. To get its result: " << program() << " chat"
              << client_options(client_.options()) << " --wait --result " << request_id << '\n';
    return kInterrupted;
  }
}

int ChatExchange::show_whole(const Client::Response& answer) {
  ChatPrinter printer(show_of(client_.options()), stdout, stderr);
  printer.take_whole(*answer.json);
  printer.end_line();
  return deliver_end(printer, answer.reply);
}

std::string ChatExchange::model_for(const std::string& requested, int& exit_code) {
  if (!requested.empty()) return requested;
  const ChatModels found = chat_models(client_);
  exit_code = found.exit_code;
  if (exit_code != kOk) return {};
  if (found.names.size() == 1) return found.names.front();
  std::cerr << choice_text(found.names, client_.options());
  exit_code = kUsage;
  return {};
}

}  // namespace millrace::cli
