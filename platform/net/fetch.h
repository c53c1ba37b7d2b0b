#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "platform/base/result.h"
#include "platform/net/fetch_guard.h"
#include "platform/net/http/http_client.h"

namespace millrace::net {

struct FetchLimits {
  std::size_t bytes_max = 50u << 20;
  int redirects_max = 3;
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds total_timeout{60'000};  // all hops
  std::chrono::seconds stall_timeout{15};
};

// Who takes a document, piece by piece. All of it on the loop's thread; it must not block.
struct Receiver {
  // A reply that is the document begins; `bytes` is what its head says, at most bytes_max; 0 if
  // it says nothing.
  std::function<void(std::int64_t bytes)> on_begin;
  // Room for another piece? While there is none the other side waits, until `Fetch::resume`.
  std::function<bool()> is_ready;
  // False: the rest is not wanted.
  std::function<bool(std::string_view)> on_data;
  // Once, last. An error: what came before is not the whole document.
  std::function<void(base::Status)> on_done;
};

// GET of a URL that a client named, under the guard: every hop is checked, credentials are never sent.
// Errors: kFetchRefused (the guard), kDocumentTooLarge (bytes_max), kFetchFailed (the rest; 5xx, 429 and
// connection failures carry a retry_after and may be tried again). Thread-safe.
class Fetch {
 public:
  Fetch(Loop& loop, HttpClient& client, const FetchGuard& guard, FetchLimits limits);
  class Running;
  std::shared_ptr<Running> start(std::string url, Receiver receiver);
  // The receiver has room again. On the loop's thread only.
  static void resume(Running& running);
  // Ends it without `on_done`, unless that has begun.
  void cancel(const std::shared_ptr<Running>& running);

 private:
  Loop& loop_;
  HttpClient& client_;
  const FetchGuard& guard_;
  FetchLimits limits_;
};

}  // namespace millrace::net
