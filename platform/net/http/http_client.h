#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
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
  // If not -1, the body is the first `body_file_bytes` bytes of this file instead. It must stay open until
  // the request has ended, and is read on the loop's thread: only for a loop that may block on the disk.
  int body_file = -1;
  std::int64_t body_file_bytes = 0;
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds total_timeout{120'000};  // 0: none
  std::chrono::seconds stall_timeout{30};  // fails if less than 1 byte/s arrives for this long; 0: none
  // from the start to the first byte of the response; 0: none
  std::chrono::milliseconds first_byte_timeout{0};
  // after that, between two pieces unless reading is paused; 0: none
  std::chrono::milliseconds idle_timeout{0};
  std::size_t body_bytes_max = 64u << 20;  // of the response body, counted as it arrives
  std::size_t read_buffer_bytes = 0;       // size of curl's read buffer; 0: 16 KiB or more
  bool identity_encoding = true;           // false: gzip and others are accepted and decoded
  // Always use a new connection. A request on a kept-alive connection is sent again if the connection closes
  // without a byte of a response, although the server may have processed it (RFC 9110 §9.2.2).
  bool own_connection = false;
  // Such a request is not sent again, but fails with `is_unanswered`: the caller decides, and counts it.
  bool reports_unanswered = false;
  // Called for every connection after DNS resolution, so DNS rebinding cannot change the address between
  // check and use. To refuse the address, return an error; it becomes the error of the request. Runs on the
  // loop thread. Null: every address is allowed.
  std::function<base::Status(const sockaddr&)> address_filter;
};

struct HttpReply {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;         // names in lower case
  std::string body;                                                 // empty if `on_data` received it
  std::string_view header(std::string_view lower_case_name) const;  // the first one, or empty
};

// The implementation for http://: our own (ADR 17), or curl. https://, unusual URLs and bodies from files
// always use curl.
enum class PlainHttp : std::uint8_t { kBuiltIn, kCurl };

class HttpTransport;

// HTTP(S) client on the loop. Supports only http and https; does not follow redirects and uses no proxy,
// netrc or cookies. Keep-alive pools by host, TCP_NODELAY, HTTP/2 if TLS negotiates it. Thread-safe.
// Callbacks run on the loop's thread, and never before `start` has returned.
class HttpClient {
 public:
  explicit HttpClient(Loop& loop, PlainHttp plain = PlainHttp::kBuiltIn);
  // Cancels all transfers without callbacks. Waits for the loop, so destroy it before Loop::stop and not on
  // the loop's thread.
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  struct Handlers {
    // Receives the head, directly before the first byte of the body, or directly before on_done if the body
    // is empty. Not called before an error of on_done if no byte of a body came. May be null.
    std::function<void(const HttpReply&)> on_head;
    // Called before each piece. False: reading pauses until `resume`, and the sender has to wait. Null:
    // always ready.
    std::function<bool()> is_ready;
    // Receives each piece of the body. Returning false stops the transfer. Null: the body is collected.
    std::function<bool(std::string_view)> on_data;
    // Called once, as the last handler. kUpstream: connection, TLS or protocol error. kUpstreamTimeout: names
    // the time-out and its value. kTooLarge: body_bytes_max. `is_free`: no byte of the request was sent, or
    // `is_unanswered`.
    std::function<void(base::Result<HttpReply>)> on_done;
  };
  // A handle to a transfer. `cancel` ends it without on_done (unless on_done is running) and closes its
  // connection. On the loop's thread both take effect immediately, unless a handler is running.
  class Transfer;
  std::shared_ptr<Transfer> start(HttpRequest request, Handlers handlers);
  void cancel(const std::shared_ptr<Transfer>& transfer);
  // Calls `is_ready` again and continues. Only on the loop's thread; no effect on a transfer that has ended.
  static void resume(Transfer& transfer);

  // Lets a thread other than the loop's handle the sockets of plain upstreams (ADR 21). That thread starts
  // requests itself (by Loop::run_inline_if_idle), so no other thread has to be woken for their responses.
  // `share_replies` returns a descriptor, and the loop stops waiting for it. The thread watches it,
  // edge-triggered, and calls `run_shared_replies`. REQUIRES: the thread stops watching before the client is
  // destroyed, because the descriptor number may then be reused.
  int share_replies();        // -1: there is none to share
  void run_shared_replies();  // runs inline like Loop::run_inline_if_idle
  void end_shared_replies();  // the loop waits for it again; any thread

  // Starts a request and waits for it. For command-line programs; never call it on a loop thread.
  base::Result<HttpReply> fetch_blocking(HttpRequest request, Handlers handlers = {});

 private:
  Loop& loop_;
  const std::shared_ptr<HttpTransport> curl_, plain_;  // plain_: null if curl handles all requests
};

}  // namespace millrace::net
