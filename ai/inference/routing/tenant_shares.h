#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "ai/inference/routing/rate_limiter.h"
#include "ai/inference/routing/registry.h"

namespace millrace::inference {

// What each tenant takes of one target's limits. While several tenants use the target, each of them gets at
// most 7/8 of its concurrent calls, of a minute's requests and of a minute's tokens, but at least one call.
// So one tenant cannot use up the limits alone. A tenant that uses the target alone has all of them. Not
// thread-safe.
class TenantShares {
 public:
  // A tenant counts as a user for this long after its last call or attempt.
  static constexpr std::chrono::minutes kUserFor{10};

  // The part of `limits` that one of several tenants gets.
  static ModelLimits share(const ModelLimits& limits);

  // The tenant calls or attempts to. True: it may take its share only.
  bool is_shared(const std::string& tenant, SteadyTime now);
  // Time until a call fits into `share`, by each limit; 0: it fits now.
  struct Wait {
    bool concurrent = false;  // no call fits until one of the tenant ends
    std::chrono::milliseconds requests{0}, tokens{0};
  };
  Wait wait(const ModelLimits& share, const std::string& tenant, double tokens, SteadyTime now);

  // Counts against the minute; negative gives back.
  void take(const ModelLimits& limits, const std::string& tenant, int requests, double tokens,
            SteadyTime now);
  // A call begins or ends.
  void entered(const std::string& tenant);
  void left(const std::string& tenant);
  int running(const std::string& tenant) const;
  // Queued calls.
  void add_waiting(const std::string& tenant, int count);
  int waiting(const std::string& tenant) const;

 private:
  struct Usage {
    int running = 0, waiting = 0;
    RateWindow requests, tokens;
    SteadyTime used_at{};
  };
  struct User {
    std::string tenant;
    SteadyTime at{};
  };
  void forget_unused(SteadyTime now);

  std::map<std::string, Usage> tenants_;
  User last_, last_other_;  // the tenant that called last, and the last one before it
};

}  // namespace millrace::inference
