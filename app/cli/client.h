#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "platform/base/result.h"
#include "platform/net/http/http_client.h"
#include "platform/net/loop.h"

namespace millrace::cli {

class Interrupt;

// Stable exit codes of the client commands (docs/jobs.md, Exit codes; 16: ADR 38).
enum ExitCode : int {
  kOk = 0,
  kFailed = 1,
  kUsage = 2,
  kCredentials = 10,
  kNotFound = 11,
  kRateLimited = 12,
  kRefused = 13,
  kServerError = 14,
  kNoConnection = 15,
  kNotYet = 16,  // what was asked for is still being made
  kInterrupted = 130,
};

// What every client command takes.
struct ClientOptions {
  std::string url = "http://127.0.0.1:8080";
  std::string key;
  bool key_typed = false;  // with --key: perhaps no file and no variable holds it
  std::string data;        // as --data names it: its admin.key is `key`
  bool json = false;       // data as JSON on stdout
  bool quiet = false;      // no progress
  bool no_color = false;   // also NO_COLOR
};

// A refusal or a fault, as a person should read it.
struct ClientError {
  int exit_code = kFailed;
  int status = 0;    // 0: no answer
  std::string code;  // stable name, may be empty
  std::string message;
  std::string request_id;
  bool transient = false;  // the same request may succeed in a moment
};
// "millrace: message (code, request id)" and one line of advice, on stderr.
void print_error(const ClientError& error);
// The same; its exit code.
int fail(const ClientError& error);
// "millrace: message" on stderr; its exit code.
int fail(const std::string& message, int exit_code = kFailed);
int misused(const std::string& message);  // kUsage

// A stream that breaks is asked for again, so often and so much later.
inline constexpr int kReconnectsMax = 60;
inline constexpr std::chrono::seconds kReconnectAfter{1};

// The API of a running gateway. Blocking; one thread. An `interrupt` cuts short what is being asked, whatever
// it waits for: that answer's error is kInterrupted, and whether the gateway has taken the request is not
// known.
class Client {
 public:
  explicit Client(ClientOptions options, Interrupt* interrupt = nullptr);

  using Headers = std::vector<std::pair<std::string, std::string>>;
  struct Answer {
    net::HttpReply reply;
    std::shared_ptr<const nlohmann::json> json;  // an object; null unless `ok`, and for a stream
    ClientError error;
    bool ok = false;  // status 2xx, from a gateway
  };
  // A body is JSON unless `headers` begin with another Content-Type.
  Answer request(std::string method, const std::string& path, std::string body = {}, Headers headers = {});
  // The same of a POST that a model thinks about: up to an hour, and silent all the while.
  Answer ask(const std::string& path, std::string body);
  // A GET whose body is no JSON, or is not read as such: it stays in the reply.
  Answer fetch_as_is(const std::string& path);
  // Of a stream: false ends it.
  using OnEvent = std::function<bool(std::string_view id, std::string_view event, std::string_view data)>;
  // Server-sent events until the stream ends or `on_event` says false. `last_id` is where it resumes.
  Answer stream(const std::string& path, std::int64_t last_id, OnEvent on_event);
  // The same of a POST, which cannot be resumed; it may be silent before its first event, as a model is.
  Answer ask_stream(const std::string& path, std::string body, OnEvent on_event);
  // The bytes of a reply 200, as they come; `take` says false to end it, which is an error then.
  using TakeBytes = std::function<bool(std::string_view bytes)>;
  Answer download(const std::string& path, TakeBytes take);
  // The same of a POST that a model thinks about before its first byte.
  Answer ask_bytes(const std::string& path, std::string body, TakeBytes take);
  // What answers there is something else; `why` completes the sentence "it answers, but ...".
  ClientError no_gateway(const std::string& why) const;
  const ClientOptions& options() const { return options_; }

 private:
  net::HttpRequest prepare(std::string method, const std::string& path, Headers headers) const;
  std::optional<base::Result<net::HttpReply>> fetch(net::HttpRequest request,
                                                    net::HttpClient::Handlers handlers);
  Answer judge(std::optional<base::Result<net::HttpReply>> reply) const;
  Answer send(net::HttpRequest request);
  Answer read_events(net::HttpRequest request, OnEvent on_event);
  Answer read_content(net::HttpRequest request, const TakeBytes& take);
  void take_json(Answer& answer) const;

  ClientOptions options_;
  Interrupt* interrupt_;
  net::Loop loop_{"client"};
  net::HttpClient http_{loop_};
};

std::string percent_encoded(std::string_view text);

// An Idempotency-Key that nobody has used.
Client::Headers fresh_key_header();

// What a gateway says when it does not do what was asked, in any of its three forms
// (docs/design/http-contract.md §3).

// Fills `code` and `message` from the body; what the body does not say stays as it is.
void read_refusal(const std::string& body, ClientError& error);

// When to ask again: `retry-after-ms`, else `retry-after`, within a minute; a second if neither is there.
std::chrono::milliseconds retry_after(const net::HttpReply& reply);

}  // namespace millrace::cli
