#include "app/cli/client.h"

#include <algorithm>
#include <charconv>
#include <future>
#include <iostream>
#include <memory>
#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>
#include <sys/eventfd.h>
#include <unistd.h>

#include "app/cli/interrupt.h"
#include "app/cli/json_cells.h"
#include "app/cli/key_advice.h"
#include "app/cli/program.h"
#include "platform/base/crypto.h"
#include "platform/base/ids.h"
#include "platform/net/sse_reader.h"

namespace millrace::cli {
namespace {

constexpr int kOkStatus = 200;
constexpr std::size_t kRefusalMax = std::size_t{1} << 20;
constexpr std::size_t kIdempotencyKeyBytes = 16;
constexpr std::chrono::hours kAnswerWait{1};
constexpr std::chrono::minutes kStreamSilence{5};  // chat.heartbeat breaks it, every 15 s
constexpr std::string_view kEventStream = "text/event-stream";

int exit_code_of(int status) {
  if (status == 401 || status == 403) return kCredentials;
  if (status == 404) return kNotFound;
  if (status == 429) return kRateLimited;
  return status >= 500 ? kServerError : kRefused;
}

std::string advice(const ClientError& error) {
  switch (error.exit_code) {
    case kNoConnection:
      return "Is the gateway running? `" + program() +
             " serve` starts one; --url or MILLRACE_URL sets another address.";
    case kRateLimited:
      return "Wait a little and try again.";
    case kServerError:
      return "The gateway's log has the request id; `" + program() + " doctor` checks the installation.";
    default:
      return {};
  }
}

bool may_pass(int status) { return status == 429 || (status >= 500 && status != 501); }

// For a request whose reply begins late and may pause.
net::HttpRequest with_long_wait(net::HttpRequest request) {
  request.total_timeout = std::chrono::milliseconds(0);
  request.stall_timeout = std::chrono::seconds(0);
  request.first_byte_timeout = kAnswerWait;
  request.idle_timeout = kStreamSilence;
  request.own_connection = true;
  return request;
}

// Statuses that any server returns for unknown paths.
bool is_of_any_server(int status) { return status == 404 || status == 405 || status == 501; }

// Describes the content of a reply in an error: "text/html", "nothing", ….
std::string kind_of(const net::HttpReply& reply) {
  const std::string_view type = reply.header("content-type");
  if (!type.empty()) return std::string(type.substr(0, type.find(';')));
  return reply.body.empty() ? "nothing" : "something";
}

// The result of one transfer, with a descriptor that becomes readable at its end.
struct Ending {
  Ending() = default;
  ~Ending() { ::close(fd); }
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;

  std::promise<base::Result<net::HttpReply>> reply;
  int fd = ::eventfd(0, EFD_CLOEXEC);
};

}  // namespace

void print_error(const ClientError& error) {
  std::cerr << "millrace: " << error.message;
  if (!error.code.empty() || !error.request_id.empty()) {
    std::cerr << " (" << error.code << (error.code.empty() || error.request_id.empty() ? "" : ", ")
              << (error.request_id.empty() ? "" : "request " + error.request_id) << ")";
  }
  std::cerr << '\n';
  if (const std::string line = error.advice.empty() ? advice(error) : error.advice; !line.empty())
    std::cerr << line << '\n';
}

int fail(const ClientError& error) {
  if (error.exit_code != kInterrupted) print_error(error);
  return error.exit_code;
}

int fail(const std::string& message, int exit_code) {
  std::cerr << "millrace: " << message << '\n';
  return exit_code;
}

int fail_usage(const std::string& message) { return fail(message, kUsage); }

Client::Client(ClientOptions options, Interrupt* interrupt)
    : options_(std::move(options)), interrupt_(interrupt) {
  while (options_.url.ends_with('/')) options_.url.pop_back();
}

net::HttpRequest Client::prepare(std::string method, const std::string& path, Headers headers) const {
  net::HttpRequest request;
  request.method = std::move(method);
  request.url = options_.url + path;
  request.headers = std::move(headers);
  if (!options_.key.empty()) request.headers.emplace_back("Authorization", "Bearer " + options_.key);
  request.total_timeout = std::chrono::minutes(5);
  request.stall_timeout = std::chrono::seconds(150);
  if (interrupt_ != nullptr && interrupt_->last() != 0)  // nobody waits any more
    request.total_timeout = request.stall_timeout = std::chrono::seconds(10);
  request.body_bytes_max = std::size_t{1} << 30;
  return request;
}

// nullopt: interrupted.
std::optional<base::Result<net::HttpReply>> Client::fetch(net::HttpRequest request,
                                                          net::HttpClient::Handlers handlers) {
  if (interrupt_ == nullptr) return http_.fetch_blocking(std::move(request), std::move(handlers));
  const auto ending = std::make_shared<Ending>();
  handlers.on_done = [ending](base::Result<net::HttpReply> reply) {
    ending->reply.set_value(std::move(reply));
    ::eventfd_write(ending->fd, 1);
  };
  const bool has_callbacks = handlers.on_head || handlers.on_data;
  const auto transfer = http_.start(std::move(request), std::move(handlers));
  if (!interrupt_->wait_on_thread(ending->fd)) return ending->reply.get_future().get();
  http_.cancel(transfer);
  if (has_callbacks) {  // no callback runs after the loop has passed this point
    std::promise<void> cancelled;
    loop_.post([&cancelled] { cancelled.set_value(); });
    cancelled.get_future().wait();
  }
  return std::nullopt;
}

Client::Response Client::check_reply(std::optional<base::Result<net::HttpReply>> result) const {
  Response answer;
  if (!result) {
    answer.error = {kInterrupted, 0, {}, "interrupted", {}, false};
    return answer;
  }
  base::Result<net::HttpReply>& reply = *result;
  if (!reply) {
    answer.error = {kNoConnection, 0, {}, "no answer from " + options_.url + ": " + reply.error().message, {},
                    true};
    return answer;
  }
  answer.reply = *std::move(reply);
  const int status = answer.reply.status;
  answer.ok = status >= 200 && status < 300;
  if (answer.ok) return answer;
  answer.error.exit_code = exit_code_of(status);
  if (answer.error.exit_code == kCredentials) answer.error.advice = key_advice(options_.url);
  answer.error.status = status;
  answer.error.message = "the gateway answered " + std::to_string(status);
  answer.error.request_id = answer.reply.header("x-request-id");
  answer.error.transient =
      may_pass(status) && answer.reply.header("x-should-retry") != std::string_view("false");
  read_refusal(answer.reply.body, answer.error);
  const bool is_from_us = !answer.error.request_id.empty() || !answer.error.code.empty();
  if (!is_from_us && is_of_any_server(status))
    answer.error = no_gateway("with " + std::to_string(status) + " and " + kind_of(answer.reply));
  return answer;
}

ClientError Client::no_gateway(const std::string& why) const {
  return {kNoConnection, 0, {}, options_.url + " is not a Millrace gateway: it answers, but " + why, {},
          false};
}

// Another service or a proxy's page may also return 2xx.
void Client::take_json(Response& answer) const {
  const std::string& body = answer.reply.body;
  auto json = body.empty() && answer.reply.status != kOkStatus ? nlohmann::json::object()
                                                               : nlohmann::json::parse(body, nullptr, false);
  if (json.is_object()) {
    answer.json = std::make_shared<const nlohmann::json>(std::move(json));
    return;
  }
  answer.ok = false;
  answer.error = no_gateway("with " + kind_of(answer.reply) + " where JSON is expected");
}

Client::Response Client::request(std::string method, const std::string& path, std::string body,
                                 Headers headers) {
  const bool has_type = !headers.empty() && headers.front().first == "Content-Type";
  if (!body.empty() && !has_type) headers.emplace_back("Content-Type", "application/json");
  net::HttpRequest request = prepare(std::move(method), path, std::move(headers));
  request.body = std::move(body);
  return send(std::move(request));
}

Client::Response Client::post_and_wait(const std::string& path, std::string body) {
  net::HttpRequest request = prepare("POST", path, {{"Content-Type", "application/json"}});
  request.body = std::move(body);
  request.total_timeout = kAnswerWait;
  request.stall_timeout = std::chrono::seconds(0);
  request.own_connection = true;
  return send(std::move(request));
}

Client::Response Client::fetch_raw(const std::string& path) {
  Response answer = check_reply(fetch(prepare("GET", path, {}), {}));
  const bool is_result = answer.reply.status == kOkStatus && !answer.reply.header("x-millrace-job").empty();
  if (answer.ok && !is_result) {  // otherwise a proxy's page could be taken for a result
    answer.ok = false;
    answer.error = no_gateway("without the header of a job's result");
  }
  return answer;
}

Client::Response Client::check_json(std::optional<base::Result<net::HttpReply>> reply) const {
  Response answer = check_reply(std::move(reply));
  if (answer.ok) take_json(answer);
  return answer;
}

Client::Response Client::send(net::HttpRequest request) { return check_json(fetch(std::move(request), {})); }

Client::Response Client::stream(const std::string& path, std::int64_t last_id, OnEvent on_event) {
  Headers headers = {{"Accept", "text/event-stream"}};
  if (last_id > 0) headers.emplace_back("Last-Event-ID", std::to_string(last_id));
  net::HttpRequest request = prepare("GET", path, std::move(headers));
  request.total_timeout = std::chrono::milliseconds(0);
  return read_events(std::move(request), std::move(on_event));
}

Client::Response Client::request_stream(const std::string& path, std::string body, OnEvent on_event) {
  net::HttpRequest request = with_long_wait(
      prepare("POST", path, {{"Accept", "text/event-stream"}, {"Content-Type", "application/json"}}));
  request.body = std::move(body);
  return read_events(std::move(request), std::move(on_event));
}

Client::Response Client::read_events(net::HttpRequest request, OnEvent on_event) {
  bool go_on = true, is_stream = false;
  std::string refusal;
  net::SseReader reader([&](const net::SseEvent& event) {
    if (go_on) go_on = on_event(event.id, event.event, event.data);
  });
  net::HttpClient::Handlers handlers;
  handlers.on_head = [&](const net::HttpReply& head) {
    is_stream = head.status == kOkStatus && head.header("content-type").starts_with(kEventStream);
  };
  handlers.on_data = [&](std::string_view bytes) {
    if (is_stream) return reader.feed(bytes) && go_on;
    refusal.append(bytes);
    return refusal.size() < kRefusalMax;
  };
  auto reply = fetch(std::move(request), std::move(handlers));
  if (reply && *reply && !is_stream) (*reply)->body = refusal;
  Response answer = check_reply(std::move(reply));
  if (answer.ok && answer.reply.status == kOkStatus && !is_stream) {
    answer.ok = false;
    answer.error = no_gateway("with " + kind_of(answer.reply) + " where events are expected");
  }
  return answer;
}

Client::Response Client::download(const std::string& path, OnBytes take) {
  net::HttpRequest request = prepare("GET", path, {});
  request.total_timeout = std::chrono::milliseconds(0);
  return read_content(std::move(request), take);
}

Client::Response Client::wait_and_download(const std::string& path, OnBytes take) {
  return read_content(with_long_wait(prepare("GET", path, {})), take);
}

Client::Response Client::upload_and_wait(const std::string& path, std::string bytes) {
  net::HttpRequest request =
      with_long_wait(prepare("PUT", path, {{"Content-Type", "application/octet-stream"}}));
  request.body = std::move(bytes);
  return send(std::move(request));
}

net::HttpRequest Client::prepare_form(const std::string& path, int body, const std::string& content_type,
                                      Headers headers) const {
  headers.emplace_back("Content-Type", content_type);
  net::HttpRequest request = prepare("POST", path, std::move(headers));
  request.body_file = body;
  request.body_file_bytes = ::lseek(body, 0, SEEK_END);
  request.total_timeout = std::chrono::milliseconds(0);
  return request;
}

Client::Response Client::upload_form(const std::string& path, int body, const std::string& content_type,
                                     Headers headers) {
  return send(prepare_form(path, body, content_type, std::move(headers)));
}

Client::Response Client::request_bytes(const std::string& path, std::string body, OnBytes take) {
  net::HttpRequest request = with_long_wait(prepare("POST", path, {{"Content-Type", "application/json"}}));
  request.body = std::move(body);
  return read_content(std::move(request), take);
}

Client::Response Client::read_content(net::HttpRequest request, const OnBytes& take) {
  bool is_content = false, is_whole = true;
  std::string refusal;
  net::HttpClient::Handlers handlers;
  handlers.on_head = [&](const net::HttpReply& head) { is_content = head.status == kOkStatus; };
  handlers.on_data = [&](std::string_view bytes) {
    if (is_content) return is_whole = take(bytes);
    refusal.append(bytes);
    return refusal.size() < kRefusalMax;
  };
  auto reply = fetch(std::move(request), std::move(handlers));
  if (reply && *reply && !is_content) (*reply)->body = refusal;
  Response answer = check_reply(std::move(reply));
  if (answer.ok && !is_content) {
    answer.ok = false;
    answer.error = no_gateway("with " + std::to_string(answer.reply.status) + " where a file is expected");
  }
  if (!is_whole) answer.ok = false;
  return answer;
}

Client::Headers fresh_key_header() {
  return {{"Idempotency-Key", base::hex(base::random_bytes(kIdempotencyKeyBytes))}};
}

std::string percent_encoded(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.' || c == '~') {
      out.push_back(c);
    } else {
      out.append({'%', kHex[byte >> 4], kHex[byte & 15]});
    }
  }
  return out;
}

using nlohmann::json;
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kProblemsShown = 4;
constexpr milliseconds kUsualWait{1'000}, kLongestWait{60'000};

// The other problems of a request, after the first, which the message describes (RFC 9457).
std::string more_problems(const json& body) {
  std::string out;
  const auto problems = body.find("errors");
  if (problems == body.end() || !problems->is_array()) return out;
  for (std::size_t i = 1; i < std::min(problems->size(), kProblemsShown); ++i) {
    const json& each = (*problems)[i];
    if (each.is_object()) out += "; " + text_at(each, "location") + ": " + text_at(each, "message");
  }
  return out;
}

std::optional<std::int64_t> whole(std::string_view text) {
  std::int64_t value = 0;
  const char* last = text.data() + text.size();
  const auto [end, problem] = std::from_chars(text.data(), last, value);
  if (text.empty() || problem != std::errc() || end != last || value < 0) return std::nullopt;
  return value;
}

}  // namespace

void read_refusal(const std::string& body, ClientError& error) {
  const json parsed = json::parse(body, nullptr, false);
  if (!parsed.is_object()) return;
  const auto inner = parsed.find("error");
  if (inner == parsed.end() || !inner->is_object()) return;
  const std::string message = text_at(*inner, "message"), code = text_at(*inner, "code");
  if (!message.empty()) error.message = message + more_problems(parsed);
  if (!code.empty()) error.code = code;
}

milliseconds retry_after(const net::HttpReply& reply) {
  const auto fine = whole(reply.header("retry-after-ms"));
  const auto coarse = whole(reply.header("retry-after"));
  if (fine) return milliseconds(std::min<std::int64_t>(*fine, kLongestWait.count()));
  if (coarse) return milliseconds(std::min<std::int64_t>(*coarse, kLongestWait.count() / 1000) * 1000);
  return kUsualWait;
}

}  // namespace millrace::cli
