#pragma once
#include <cstdlib>
#include <future>
#include <string>

#include "platform/net/fetch.h"
#include "tests/support/plain_http.h"
#include "tests/unit/net/web_server.h"

namespace millrace::net::testing {

inline std::string redirect(const std::string& where) {
  return "HTTP/1.1 302 Found\r\nLocation: " + where + "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
}

// Fetches the whole document, or returns the error.
inline base::Result<std::string> fetch(const FetchGuard& guard, const std::string& url,
                                       FetchLimits limits = {}) {
  Loop loop("test");
  HttpClient client(loop, support::plain_http());
  Fetch fetch(loop, client, guard, limits);
  std::promise<base::Result<std::string>> promise;
  std::string document;
  FetchHandlers receiver;
  receiver.on_data = [&](std::string_view bytes) {
    document += bytes;
    return true;
  };
  receiver.on_done = [&](base::Status how) {
    promise.set_value(how ? base::Result<std::string>(document) : how.error());
  };
  fetch.start(url, std::move(receiver));
  auto future = promise.get_future();
  if (future.wait_for(std::chrono::seconds(20)) != std::future_status::ready) {
    ADD_FAILURE() << "fetch did not end";
    std::abort();
  }
  return future.get();
}

}  // namespace millrace::net::testing
