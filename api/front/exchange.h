#pragma once
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

struct Header {
  std::string name;  // as sent; compare without case
  std::string value;
};

// The head of a request, complete and with its framing checked (RFC 9112; docs/design/security.md §4).
struct Head {
  std::string method;  // as sent, "GET"
  std::string path;    // raw: not percent-decoded, without the query
  std::string query;   // without '?'
  std::vector<Header> headers;
  std::string peer;                             // address without port
  std::optional<std::uint64_t> content_length;  // absent: no body, or chunked
  bool chunked = false;
  std::chrono::steady_clock::time_point arrived;

  // The first header of that name (any case), or nullopt.
  std::optional<std::string_view> header(std::string_view name) const;
};

// Receives the body of a request as it arrives, in place of Request::body. `take` runs on a front (Pistache)
// thread or on the aux thread, one call at a time, in byte order, without a lock of the front end. It must
// not block or throw. If the client disconnects before the end of the body, the sink is destroyed without a
// further call. The destructor cleans up and must not block.
class BodySink {
 public:
  enum class Flow : std::uint8_t {
    kMore,
    kPause,   // no room: soon nothing is read, and the client waits, until `on_capacity` runs what it was
              // given
    kEnough,  // the answer is known: the request runs at once, what still comes is thrown away, and the
              // connection ends after the reply
  };
  virtual ~BodySink() = default;
  // `bytes` live until the call returns. Some calls may still follow after kPause.
  virtual Flow take(std::string_view bytes) = 0;
  // Runs `go_on` once when there is room again, immediately if there is. On any thread; does not block. The
  // front end calls it without a lock, after each kPause that stopped the reading.
  virtual void on_capacity(std::function<void()> go_on) = 0;
};

// A whole request. `body` has at least `kBodyPadding` bytes of capacity past its end (simdjson reads there).
inline constexpr std::size_t kBodyPadding = 64;
struct Request {
  Head head;
  std::string body;            // empty where a sink has taken it
  std::shared_ptr<void> hold;  // what admission took (byte budget …); given back with the request
  std::shared_ptr<BodySink> sink = {};
};

struct Reply {
  int status = 200;
  std::string content_type;     // empty: no Content-Type header (and none is invented)
  std::vector<Header> headers;  // beyond Content-Type, Content-Length, Date, Connection
  std::string body;
  // What the body takes of a budget: given back when the kernel has all of the reply, or the client has gone.
  std::shared_ptr<void> hold = {};
};

// The right to answer one request, once. Copyable, thread-safe; every call may come from any thread, is
// non-blocking, never runs a handler or another request nested, and says whether the client is still there.
class Responder {
 public:
  Responder() = default;
  Responder(std::shared_ptr<Connection> connection, std::uint64_t sequence)
      : connection_(std::move(connection)), sequence_(sequence) {}

  // A whole reply with Content-Length. False: answered before, or the client has gone.
  bool send(Reply reply) const;
  // A reply in pieces: head now, then `write` per piece, then `end`. `length`: the bytes of all pieces, said
  // as its Content-Length; a piece that would pass it, and an `end` before it, cut the connection and give
  // false. Without one the reply is chunked; HTTP/1.0 clients get the bytes as they are, ended by close.
  // `abort` cuts the connection, so that a reader cannot take what has come for all of it. To a HEAD the head
  // is the same, and the pieces are dropped.
  bool start_stream(Reply head, std::optional<std::uint64_t> length = std::nullopt) const;
  // A chunked one whose head leaves together with its first piece: its reader is woken once for both.
  bool start_stream(Reply head, std::string_view first) const;
  bool write(std::string_view bytes) const;
  bool end(std::string_view last = {}) const;  // with its last piece, in the same way
  bool abort() const;

  bool alive() const;
  // Bytes written to us and not yet to the kernel. A stream past `Limits::stream_backlog_max` is dropped.
  std::size_t backlog() const;
  // Runs `f` once on the aux thread when the client leaves before the reply is complete (never under the
  // connection's lock; at once if it has gone). A later call replaces the earlier one.
  void on_gone(std::function<void()> f) const;
  // Runs `f` once on the aux thread when the backlog is at or below `low_water` bytes, or the reply has ended
  // or the client has left. A later call replaces the earlier one.
  void on_drained(std::size_t low_water, std::function<void()> f) const;

 private:
  std::shared_ptr<Connection> connection_;
  std::uint64_t sequence_ = 0;
};

// The decision of admission about a head. It is made before a byte of the body is read.
struct Admit {
  std::size_t body_max = 0;         // above it: 413 at once (declared) or while reading (chunked)
  std::shared_ptr<void> hold = {};  // kept with the request
  bool while_draining = false;      // taken even after Server::refuse_new
  // Run now, without the body: that is thrown away, and the connection ends after the reply.
  bool skip_body = false;
  std::shared_ptr<BodySink> sink = {};  // takes the body as it arrives; null: it is collected
};
using Admission =
    std::variant<Admit, Reply>;  // a Reply refuses; the body is not read and the connection closes

// The callbacks of the application. All three run on a front (Pistache) thread, or on the aux
// thread (pipelined requests, time limits), never under a lock of the front end. They must not block or
// throw.
class Application {
 public:
  virtual ~Application() = default;
  virtual Admission admit(const Head& head) = 0;
  virtual void run(Request request, Responder responder) = 0;
  // The body of an error that the front end makes itself (400, 408, 413, 417, 431, 501, 503). `head` is what
  // was understood of it: its method and path are empty, and headers are missing, where that ended.
  virtual Reply error_reply(int status, std::string_view message, const Head& head) = 0;
};

}  // namespace millrace::front
