#pragma once
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "api/front/exchange.h"
#include "platform/base/clock.h"

namespace millrace::api {

// Requests per minute of each API key (limits.requests_per_minute), counted by this process. An idle key may
// send a full minute's requests at once; after that one request becomes available every 60 s / limit.
// Thread-safe.
class RequestRate {
 public:
  struct Count {
    int limit = 0;
    int remaining = 0;                         // requests that are allowed now
    std::chrono::milliseconds reset{0};        // until `remaining` is `limit` again
    std::chrono::milliseconds retry_after{0};  // > 0: this request is rejected; retry after this time
  };

  explicit RequestRate(int per_minute) : per_minute_(per_minute) {}  // 0: no limit

  // Counts a request unless it is rejected. nullopt: there is no limit.
  std::optional<Count> count(const std::string& key_id, base::BootTime now);

 private:
  const int per_minute_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::int64_t>
      free_at_us_;  // by key: when all its requests are available again
};

// x-ratelimit-{limit,remaining,reset}-requests.
void add_rate_headers(front::Reply& reply, const RequestRate::Count& count);
// "0s", "1s", "6m0s": whole seconds, rounded up.
std::string reset_text(std::chrono::milliseconds reset);

}  // namespace millrace::api
