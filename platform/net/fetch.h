#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "platform/base/result.h"
#include "platform/net/fetch_guard.h"
#include "platform/net/http_client.h"

namespace millrace::net {

struct FetchLimits {
  std::size_t bytes_max = 50u << 20;
  int redirects_max = 3;
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds total_timeout{60'000};  // all hops
  std::chrono::seconds stall_timeout{15};
};

// GET of a URL that a client named, under the guard: every hop is checked, credentials are never sent.
// Errors: kFetchRefused (the guard), kDocumentTooLarge (bytes_max), kFetchFailed (the rest; 5xx, 429 and
// connection failures carry a retry_after and may be tried again). Thread-safe; `done` once, on the loop's
// thread.
class Fetch {
 public:
  Fetch(Loop& loop, HttpClient& client, const FetchGuard& guard, FetchLimits limits);
  class Running;
  std::shared_ptr<Running> start(std::string url, std::function<void(base::Result<std::string>)> done);
  // Ends it without `done`, unless that has begun.
  void cancel(const std::shared_ptr<Running>& running);

 private:
  Loop& loop_;
  HttpClient& client_;
  const FetchGuard& guard_;
  FetchLimits limits_;
};

}  // namespace millrace::net
