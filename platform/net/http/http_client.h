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
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds total_timeout{120'000};  // 0: none
  std::chrono::seconds stall_timeout{30};            // less than 1 byte/s for so long; 0: none
  std::chrono::milliseconds first_byte_timeout{0};   // from the start to the reply's first byte; 0: none
  std::chrono::milliseconds idle_timeout{0};         // then between two pieces, unless we hold them; 0: none
  std::size_t body_bytes_max = 64u << 20;            // of the reply, counted as it arrives
  std::size_t read_buffer_bytes = 0;  // read at a time at most, and held by curl; 0: 16 KiB and more
  bool identity_encoding = true;      // false: gzip and others are offered and decoded
  // Never one that was kept alive: a request on such is sent again when it dies without a byte of a reply.
  bool own_connection = false;
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

// Whose connections carry http:// (ADR 17). https:// and URLs of rare forms are always curl's.
enum class PlainHttp : std::uint8_t { kOwn, kCurl };

class HttpTransport;

// HTTP(S) to others, on the loop. Redirects are not followed, no proxy, no netrc, no cookies, only
// http and https. Keep-alive pools by host, TCP_NODELAY, HTTP/2 where TLS offers it.
// Thread-safe; callbacks run on the loop's thread, none of them before `start` has returned.
class HttpClient {
 public:
  explicit HttpClient(Loop& loop, PlainHttp plain = PlainHttp::kOwn);
  // Cancels what runs, without callbacks. Waits for the loop, so it comes before Loop::stop and not there.
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  struct Handlers {
    // The head, right before the first byte of the body: not called for a reply without one, whose head
    // on_done has. May be null.
    std::function<void(const HttpReply&)> on_head;
    // Asked before each piece; false: it waits, and the other side with it, until `resume`. Null: always.
    std::function<bool()> is_ready;
    // Each piece as it arrives; false stops the transfer. Null: the body is collected.
    std::function<bool(std::string_view)> on_data;
    // Once, last. kUpstream: could not connect, TLS, protocol; kUpstreamTimeout names the time-out and its
    // bound; kTooLarge: body_bytes_max.
    std::function<void(base::Result<HttpReply>)> on_done;
  };
  // A handle to a transfer; `cancel` ends it without on_done (unless that has begun) and closes its
  // connection. Both act at once on the loop's thread, unless a handler of theirs is running.
  class Transfer;
  std::shared_ptr<Transfer> start(HttpRequest request, Handlers handlers);
  void cancel(const std::shared_ptr<Transfer>& transfer);
  // Asks `is_ready` again and goes on. On the loop's thread only; no effect on a transfer that has ended.
  static void resume(Transfer& transfer);

  // Plain upstreams can be heard by another thread than the loop's, one that begins requests itself (by
  // Loop::visit), so that no other has to be woken for their replies (ADR 21). From `lend_replies` on the
  // loop does not wait for them: that thread watches what it gives, edge by edge, and calls `take_replies`.
  // REQUIRES: it has ended its watch before the client goes, for the number is another file's then.
  int share_replies();        // -1: there are none to lend
  void run_shared_replies();  // as Loop::visit
  void end_shared_replies();  // the loop waits again; any thread

  // Start and wait; for command-line programs, never on a loop thread.
  base::Result<HttpReply> fetch_blocking(HttpRequest request, Handlers handlers = {});

 private:
  Loop& loop_;
  const std::shared_ptr<HttpTransport> curl_, plain_;  // plain_: null if curl carries all
};

}  // namespace millrace::net
