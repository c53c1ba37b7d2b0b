#pragma once
#include <memory>

#include "platform/net/http/http_client.h"
#include "platform/net/socket_set.h"

namespace millrace::net {

// One running request of either transport. Loop thread only.
class HttpClient::Transfer {
 public:
  virtual ~Transfer() = default;
  virtual void resume_reading() = 0;  // calls is_ready again and continues

  bool is_curl = false;  // true: curl; false: plain
};

// Performs requests, either with curl or with plain connections. Loop thread only, except `make` and
// `is_busy`; for the sources of this module.
class HttpTransport {
 public:
  using TransferPtr = std::shared_ptr<HttpClient::Transfer>;
  virtual ~HttpTransport() = default;
  // Thread-safe.
  virtual TransferPtr make(HttpRequest request, HttpClient::Handlers handlers) = 0;
  // Starts `transfer`, which `make` of this object returned. No handler is called before it returns.
  virtual void add(const TransferPtr& transfer) = 0;
  virtual void remove(const TransferPtr& transfer) = 0;
  // True while a handler runs: `add` and `remove` must then be posted.
  virtual bool is_busy() const = 0;
  virtual void close() = 0;  // ends all transfers without callbacks
  // The set of its sockets. Null: no other thread can handle them.
  virtual SocketSet* sockets() { return nullptr; }
};

std::shared_ptr<HttpTransport> curl_transport(Loop& loop);
std::shared_ptr<HttpTransport> plain_transport(Loop& loop);

}  // namespace millrace::net
