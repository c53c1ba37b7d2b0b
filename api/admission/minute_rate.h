#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "api/admission/auth.h"
#include "api/front/exchange.h"
#include "platform/base/clock.h"

namespace millrace::api {

// Limits per minute of tenants and API keys: of requests, or of tokens. They hold for all processes of the
// installation together: each one counts its own, and grants an equal part, but at least one unit. An idle
// owner may use a full minute's amount at once; after that one unit becomes available every 60 s / limit. A
// charge may exceed the limit; then the owner waits until it has been worked off. Thread-safe.
class MinuteRate {
 public:
  static constexpr std::int64_t kMax = 60'000'000;  // higher limits count as none

  // `processes`: how many there are now.
  explicit MinuteRate(std::function<int()> processes = [] { return 1; }) : processes_(std::move(processes)) {}

  struct Count {
    std::int64_t limit = 0;
    std::int64_t remaining = 0;                // units that are allowed now
    std::chrono::milliseconds reset{0};        // until `remaining` is `limit` again
    std::chrono::milliseconds retry_after{0};  // > 0: the request is rejected; retry after this time
  };

  // Counts one unit of `owner` unless the request is rejected. nullopt: the limit counts as none. REQUIRES:
  // `per_minute` is at least 0.
  std::optional<Count> take(const std::string& owner, std::int64_t per_minute, base::BootTime now);
  // The same without counting: rejected if no unit is left.
  std::optional<Count> look(const std::string& owner, std::int64_t per_minute, base::BootTime now);
  // Counts units that were used; negative: units that were counted too much.
  void charge(const std::string& owner, std::int64_t per_minute, std::int64_t units, base::BootTime now);

 private:
  // The units per minute that this process grants.
  std::int64_t part_of(std::int64_t per_minute) const;
  // In units of the installation, if all processes are used equally.
  Count count(std::int64_t free_at_us, std::int64_t per_minute, std::int64_t now_us) const;

  const std::function<int()> processes_;

  std::mutex mutex_;
  std::unordered_map<std::string, std::int64_t>
      free_at_us_;  // by owner: when all its units are available again
};

enum class RateUse : std::uint8_t { kCount, kLook };

// Checks a quota per minute of the key and of its tenant. kQuotaExceeded: a limit is reached, and nothing was
// counted. `shown` becomes what responses report: the limit that leaves the fewest units, but never a
// tenant's default limit, which no usual client reaches.
base::Status admit_within_limits(MinuteRate& rate, RateUse use, const Principal& principal,
                                 schemas::Quota quota, base::BootTime now,
                                 std::optional<MinuteRate::Count>& shown);

// x-ratelimit-{limit,remaining,reset}-UNIT, where `unit` is "requests" or "tokens".
void add_rate_headers(front::Reply& reply, const MinuteRate::Count& count, std::string_view unit);
// "0s", "1s", "6m0s": whole seconds, rounded up.
std::string reset_text(std::chrono::milliseconds reset);

}  // namespace millrace::api
