#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/base/result.h"
#include "platform/net/loop.h"

struct sockaddr;

namespace millrace::net {

struct HttpRequest {
  std::string method = "GET";
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds total_timeout{120'000};  // 0: none
  std::chrono::seconds stall_timeout{30};            // less than 1 byte/s for so long; 0: none
  std::size_t body_bytes_max = 64u << 20;            // of the reply, counted as it arrives
  bool identity_encoding = true;                     // false: gzip and others are offered and decoded
  // Asked for every connection after DNS, so that rebinding cannot slip between check and use; refuse by an
  // error, which becomes the request's. Runs on the loop thread. Null: every address.
  std::function<base::Status(const sockaddr&)> vet;
};

struct HttpReply {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;         // names in lower case
  std::string body;                                                 // empty if `on_data` took it
  std::string_view header(std::string_view lower_case_name) const;  // the first, or empty
};

// HTTP(S) to others: curl multi on the loop. Redirects are not followed, no proxy, no netrc, no cookies, only
// http and https. Keep-alive pools. Thread-safe; callbacks run on the loop's thread.
class HttpClient {
 public:
  explicit HttpClient(Loop& loop);
  ~HttpClient();  // cancels what runs, without callbacks
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  struct Handlers {
    // The head is complete; before the first byte of the body. May be null.
    std::function<void(const HttpReply&)> on_head;
    // Asked before each piece; false: it waits, and the other side with it, until `resume`. Null: always.
    std::function<bool()> is_ready;
    // Each piece as it arrives; false stops the transfer. Null: the body is collected.
    std::function<bool(std::string_view)> on_data;
    // Once, last. kUpstream: could not connect, TLS, protocol; kUpstreamTimeout; kTooLarge: body_bytes_max.
    std::function<void(base::Result<HttpReply>)> on_done;
  };
  // A handle to a transfer; `cancel` ends it without on_done (unless that has begun).
  class Transfer;
  std::shared_ptr<Transfer> start(HttpRequest request, Handlers handlers);
  void cancel(const std::shared_ptr<Transfer>& transfer);
  // Asks `is_ready` again and goes on. On the loop's thread only; no effect on a transfer that has ended.
  static void resume(Transfer& transfer);

  // Start and wait; for command-line programs, never on a loop thread.
  base::Result<HttpReply> fetch_blocking(HttpRequest request, Handlers handlers = {});

 private:
  class Multi;
  Loop& loop_;
  std::shared_ptr<Multi> multi_;
};

}  // namespace millrace::net
