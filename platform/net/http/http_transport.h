#pragma once
#include <memory>

#include "platform/net/http/http_client.h"
#include "platform/net/socket_set.h"

namespace millrace::net {

// One request under way, on whichever way. Loop thread only.
class HttpClient::Transfer {
 public:
  virtual ~Transfer() = default;
  virtual void resume_reading() = 0;  // asks is_ready, and goes on

  bool is_curls = false;  // which of the two ways it goes
};

// How requests get there: by curl, or by connections of our own. Loop thread only but for `make` and
// `is_busy`; for this room's sources.
class HttpTransport {
 public:
  using TransferPtr = std::shared_ptr<HttpClient::Transfer>;
  virtual ~HttpTransport() = default;
  // Thread-safe.
  virtual TransferPtr make(HttpRequest request, HttpClient::Handlers handlers) = 0;
  // Begins `transfer`, which this has made; nothing is told of it before it returns.
  virtual void add(const TransferPtr& transfer) = 0;
  virtual void remove(const TransferPtr& transfer) = 0;
  // A handler runs now, so that `add` and `remove` have to wait for the next turn.
  virtual bool is_busy() const = 0;
  virtual void close() = 0;  // everything ends, without a word
  // What it hears of its sockets by; null: no other thread can.
  virtual SocketSet* sockets() { return nullptr; }
};

std::shared_ptr<HttpTransport> curl_transport(Loop& loop);
std::shared_ptr<HttpTransport> plain_transport(Loop& loop);

}  // namespace millrace::net
