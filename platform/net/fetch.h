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

// True for a status whose `location` names where the document is.
bool is_redirect(int status);
// Resolves `location` against `base` by the rules for relative references. Empty: the result is not a valid
// URL.
std::string resolve_location(const std::string& base, std::string_view location);

struct FetchLimits {
  std::size_t bytes_max = 50u << 20;
  int redirects_max = 3;
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds total_timeout{60'000};  // for all hops together
  std::chrono::seconds stall_timeout{15};
};

// Receives a document piece by piece. All functions are called on the loop's thread and must not block.
struct FetchHandlers {
  // Called when the response with the document begins. `bytes` is its declared length, at most bytes_max; 0:
  // not declared.
  std::function<void(std::int64_t bytes)> on_begin;
  // Returns true if there is space for another piece. If not, reading pauses until `Fetch::resume`.
  std::function<bool()> is_ready;
  // False: stop the transfer.
  std::function<bool(std::string_view)> on_data;
  // Called once, as the last function. On error, the document is incomplete.
  std::function<void(base::Status)> on_done;
};

// Downloads a URL that a client named. The guard checks every hop; credentials are never sent. Errors:
// kFetchRefused (by the guard), kDocumentTooLarge (bytes_max), kFetchFailed (all others; 5xx, 429 and
// connection failures have a retry_after and may be retried). Thread-safe.
class Fetch {
 public:
  Fetch(Loop& loop, HttpClient& client, const FetchGuard& guard, FetchLimits limits);
  class Running;
  std::shared_ptr<Running> start(std::string url, FetchHandlers receiver);
  // Call this when the receiver has space again. Only on the loop's thread.
  static void resume(Running& running);
  // Ends the download without `on_done`, unless `on_done` is already running.
  void cancel(const std::shared_ptr<Running>& running);

 private:
  Loop& loop_;
  HttpClient& client_;
  const FetchGuard& guard_;
  FetchLimits limits_;
};

}  // namespace millrace::net
