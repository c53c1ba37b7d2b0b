#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace millrace::front {

class Connection;
class ReplyCollector;

struct Header {
  std::string name;  // as sent; compare case-insensitively
  std::string value;
};

// The complete head of a request with checked framing (RFC 9112; docs/design/security.md §4).
struct Head {
  std::string method;  // as sent, "GET"
  std::string path;    // raw: not percent-decoded, without the query
  std::string query;   // without '?'
  std::vector<Header> headers;
  std::string peer;         // address of the client, without port
  bool from_proxy = false;  // a trusted proxy (Server::Options::trusted_proxies) sent it and named `peer`
  std::optional<std::uint64_t> content_length;  // absent: no body, or chunked
  bool chunked = false;
  std::chrono::steady_clock::time_point arrived;

  // The first header with this name (case-insensitive), or nullopt.
  std::optional<std::string_view> header(std::string_view name) const;
};

// Receives the body of a request as it arrives, instead of Request::body. `take` runs on a front (Pistache)
// thread or on the aux thread, one call at a time, in byte order, without a lock of the front end. It must
// not block or throw. If the client disconnects before the end of the body, the sink is destroyed without a
// further call. The destructor cleans up and must not block.
class BodySink {
 public:
  enum class Flow : std::uint8_t {
    kMore,
    kPause,        // the sink is full: reading pauses. It resumes when the callback of `on_capacity` runs
    kDiscardRest,  // the response is known: the request runs at once, further bytes are discarded, and the
                   // connection closes after the reply
  };
  virtual ~BodySink() = default;
  // `bytes` are valid until the call returns. Some calls may still follow after kPause.
  virtual Flow take(std::string_view bytes) = 0;
  // Runs `resume` once as soon as the sink has space; immediately if it has space now. May be called on any
  // thread; does not block. The front end calls it without a lock, after each kPause that stopped the
  // reading.
  virtual void on_capacity(std::function<void()> resume) = 0;
};

// Decides about the bytes of a body while they arrive. One call at a time, on the threads of BodySink::take,
// but under a lock of the front end: it must not block, throw, or call the front end.
class BodyMeter {
 public:
  virtual ~BodyMeter() = default;
  // The body has `bytes` now. False: no more of it is accepted. The request runs at once with what has come,
  // further bytes are discarded, and the connection closes after the reply.
  virtual bool grow(std::uint64_t bytes) = 0;
};

// A complete request. `body` has at least `kBodyPadding` bytes of capacity past its end, because simdjson
// reads there.
inline constexpr std::size_t kBodyPadding = 64;
struct Request {
  Head head;
  std::string body;                     // empty if a sink received it
  std::shared_ptr<void> request_state;  // Admit::request_state; released with the request
  std::shared_ptr<BodySink> sink = {};
};

struct Reply {
  int status = 200;
  std::string content_type;     // empty: no Content-Type header
  std::vector<Header> headers;  // in addition to Content-Type, Content-Length, Date, Connection
  std::string body;
  // The budget that the body uses. It is released when the kernel has all of the reply, or the client has
  // disconnected.
  std::shared_ptr<void> reservation = {};
};

// The right to send one response to a request. Copyable and thread-safe. Calls are allowed on any thread, do
// not block, and never run a handler or another request nested. They return whether the client is still
// connected.
class Responder {
 public:
  Responder() = default;
  Responder(std::shared_ptr<Connection> connection, std::uint64_t sequence)
      : connection_(std::move(connection)), sequence_(sequence) {}
  // For a request that the gateway makes itself: no client disconnects, and nothing waits to be sent.
  explicit Responder(std::shared_ptr<ReplyCollector> collector) : collector_(std::move(collector)) {}

  // A complete reply with Content-Length. False: already answered, or the client has disconnected.
  bool send(Reply reply) const;
  // A streamed reply: sends the head now, then `write` sends each piece, then `end`. `length` is the size of
  // all pieces and becomes Content-Length. A piece beyond it, or an `end` before it, cuts the connection and
  // returns false. Without `length` the reply is chunked; HTTP/1.0 clients get the plain bytes, ended by
  // close. `abort` cuts the connection, so that the reader does not mistake a partial reply for a complete
  // one. For HEAD the head is the same and the pieces are dropped.
  bool start_stream(Reply head, std::optional<std::uint64_t> length = std::nullopt) const;
  // A chunked reply whose head is sent together with its first piece, so that the client wakes up once for
  // both.
  bool start_stream(Reply head, std::string_view first) const;
  bool write(std::string_view bytes) const;
  bool end(std::string_view last = {}) const;  // sent together with the last piece
  bool abort() const;
  // Ends the request for its handler as if the client had disconnected: `on_gone` runs, and later calls have
  // no effect. Sends `reply` if nothing was sent yet and there is one, and closes. Otherwise cuts the
  // connection, even if a complete reply is still being sent.
  bool cancel(std::optional<Reply> reply) const;

  bool alive() const;
  // Bytes that were written here but not yet to the kernel. A stream above `Limits::stream_backlog_max` is
  // dropped.
  std::size_t backlog() const;
  // Runs `f` once on the aux thread if the client disconnects before the reply is complete; at once if it
  // already has. Never under the connection's lock. A later call replaces the earlier one.
  void on_gone(std::function<void()> f) const;
  // Runs `f` once on the aux thread when the backlog is at most `low_water` bytes, the reply has ended, or
  // the client has disconnected. A later call replaces the earlier one.
  void on_drained(std::size_t low_water, std::function<void()> f) const;

 private:
  std::shared_ptr<Connection> connection_;
  std::uint64_t sequence_ = 0;
  std::shared_ptr<ReplyCollector> collector_;
};

// Accepts a request. The decision is made by the head, before the body is read.
struct Admit {
  std::size_t body_max = 0;  // larger bodies get 413: at once (declared length) or while reading (chunked)
  std::shared_ptr<void> request_state =
      {};                       // the application's own, such as byte budget; kept with the request
  bool while_draining = false;  // accepted even after Server::refuse_new
  bool authenticated = false;   // the key is valid, so this connection is not closed to admit another one
  // Run the request now without its body. The body is discarded, and the connection closes after the reply.
  bool skip_body = false;
  std::shared_ptr<BodySink> sink = {};  // receives the body as it arrives; null: the body is collected
  BodyMeter* meter = nullptr;           // belongs to request_state; null: no limit but `body_max`
  // The application sets it on any thread, if the request has lost its authorization. If the body is still
  // arriving then, the response is error_reply(401), within a tick. Part of `request_state`; null: never.
  const std::atomic<bool>* revoked = nullptr;
};
using Admission = std::variant<Admit, Reply>;  // a Reply rejects the request; the body is not read and the
                                               // connection closes

// The callbacks of the application. All three run on a front (Pistache) thread, or on the aux
// thread (pipelined requests, time limits), never under a lock of the front end. They must not block or
// throw.
class Application {
 public:
  virtual ~Application() = default;
  virtual Admission admit(const Head& head) = 0;
  virtual void run(Request request, Responder responder) = 0;
  // The body of an error that the front end generates (400, 401, 408, 413, 417, 431, 501, 503). `head`
  // contains what could be parsed: its method and path may be empty, and headers may be missing.
  virtual Reply error_reply(int status, std::string_view message, const Head& head) = 0;
};

}  // namespace millrace::front
