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

#include "app/cli/exit_code.h"
#include "platform/base/result.h"
#include "platform/net/http/http_client.h"
#include "platform/net/loop.h"

namespace millrace::cli {

class Interrupt;

// Options of every client command.
struct ClientOptions {
  std::string url = "http://127.0.0.1:8080";
  std::string key;
  bool key_typed = false;  // the key was given with --key, so possibly no file or variable has it
  std::string data;        // the directory of --data; `key` is its admin.key
  bool json = false;       // data as JSON on stdout
  bool quiet = false;      // no progress
  bool no_color = false;   // also NO_COLOR
};

// An error response or a transport error, as shown to a person.
struct ClientError {
  int exit_code = kFailed;
  int status = 0;    // HTTP status; 0: no response
  std::string code;  // stable name, may be empty
  std::string message;
  std::string request_id;
  bool transient = false;   // the same request may succeed in a moment
  std::string advice = {};  // what to do about it; empty: print_error has a general one
};
// "millrace: message (code, request id)" and one line of advice, on stderr.
void print_error(const ClientError& error);
// Prints it as print_error does, unless it is kInterrupted, and returns its exit code.
int fail(const ClientError& error);
// Prints "millrace: message" to stderr and returns `exit_code`.
int fail(const std::string& message, int exit_code = kFailed);
int fail_usage(const std::string& message);  // kUsage

// Reconnects of a broken stream: how many, and the delay before each.
inline constexpr int kReconnectsMax = 60;
inline constexpr std::chrono::seconds kReconnectAfter{1};

// HTTP client of a running gateway. Blocking; one thread. An `interrupt` aborts the current request at any
// point: its error is kInterrupted, and it is unknown whether the gateway accepted the request.
class Client {
 public:
  explicit Client(ClientOptions options, Interrupt* interrupt = nullptr);
  const Interrupt* interrupt() const { return interrupt_; }

  using Headers = std::vector<std::pair<std::string, std::string>>;
  struct Response {
    net::HttpReply reply;
    std::shared_ptr<const nlohmann::json> json;  // an object; null for a stream and unless `ok`
    ClientError error;
    bool ok = false;  // status 2xx, and the server is a Millrace gateway
  };
  // Sends a request. The body is JSON unless the first of `headers` is another Content-Type.
  Response request(std::string method, const std::string& path, std::string body = {}, Headers headers = {});
  // The same for a POST that waits for a model: up to an hour without a byte.
  Response post_and_wait(const std::string& path, std::string body);
  // A GET whose body is not JSON, or is not parsed: it stays in `reply`.
  Response fetch_raw(const std::string& path);
  // Callback for stream events. Returning false ends the stream.
  using OnEvent = std::function<bool(std::string_view id, std::string_view event, std::string_view data)>;
  // Reads server-sent events until the stream ends or `on_event` returns false. `last_id`: the event id after
  // which to resume.
  Response stream(const std::string& path, std::int64_t last_id, OnEvent on_event);
  // The same for a POST, which cannot be resumed. The stream may be silent before its first event while the
  // model works.
  Response request_stream(const std::string& path, std::string body, OnEvent on_event);
  // Passes the bytes of a 200 response to `take` as they arrive. If `take` returns false, the download ends
  // with an error.
  using OnBytes = std::function<bool(std::string_view bytes)>;
  Response download(const std::string& path, OnBytes take);
  // The same for a file that a machine copies first: up to an hour before the first byte.
  Response wait_and_download(const std::string& path, OnBytes take);
  // Sends a file with PUT and waits for the machine that copies it, as long.
  Response upload_and_wait(const std::string& path, std::string bytes);
  // Sends the whole open file `body` with POST, as a form of this content type.
  Response upload_form(const std::string& path, int body, const std::string& content_type,
                       Headers headers = {});
  // As download, for a POST that waits for a model before the first byte.
  Response request_bytes(const std::string& path, std::string body, OnBytes take);
  // The error for a server that is not a gateway; `why` completes the sentence "it answers, but ...".
  ClientError no_gateway(const std::string& why) const;
  const ClientOptions& options() const { return options_; }

 private:
  friend class ConcurrentUploads;
  net::HttpRequest prepare(std::string method, const std::string& path, Headers headers) const;
  net::HttpRequest prepare_form(const std::string& path, int body, const std::string& content_type,
                                Headers headers) const;
  std::optional<base::Result<net::HttpReply>> fetch(net::HttpRequest request,
                                                    net::HttpClient::Handlers handlers);
  Response check_reply(std::optional<base::Result<net::HttpReply>> reply) const;
  Response check_json(std::optional<base::Result<net::HttpReply>> reply) const;
  Response send(net::HttpRequest request);
  Response read_events(net::HttpRequest request, OnEvent on_event);
  Response read_content(net::HttpRequest request, const OnBytes& take);
  void take_json(Response& answer) const;

  ClientOptions options_;
  Interrupt* interrupt_;
  net::Loop loop_{"client"};
  net::HttpClient http_{loop_};
};

std::string percent_encoded(std::string_view text);

// A header with a new Idempotency-Key.
Client::Headers fresh_key_header();

// Fills `code` and `message` from the body of an error response (docs/design/http-contract.md §3); what the
// body does not say stays as it is.
void read_refusal(const std::string& body, ClientError& error);

// Delay before a retry: `retry-after-ms`, else `retry-after`, at most a minute; one second if neither is
// present.
std::chrono::milliseconds retry_after(const net::HttpReply& reply);

}  // namespace millrace::cli
