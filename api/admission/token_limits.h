#pragma once
#include <cstdint>
#include <functional>
#include <utility>

#include "api/admission/auth.h"
#include "api/admission/minute_rate.h"
#include "api/call.h"
#include "platform/base/clock.h"
#include "platform/base/result.h"

namespace millrace::api {

// tokens_per_minute of tenants and keys, for chat completions that are answered directly. A request is
// admitted while a token is left. An estimate of its own tokens is charged at once, and the rest when the
// model reports them. Deferred chats and other model endpoints are not counted. Thread-safe.
class TokenLimits {
 public:
  // `processes`: as for MinuteRate.
  explicit TokenLimits(
      const base::Clock& clock, std::function<int()> processes = [] { return 1; })
      : clock_(clock), rate_(std::move(processes)) {}

  // kQuotaExceeded: the tenant or the key has no token left. Sets Call::token_rate if a limit was set.
  base::Status admit(Call& call, std::size_t request_bytes);
  // The call has used so many tokens in all.
  void settle(Call& call, std::int64_t tokens);

 private:
  void charge(const Principal& principal, std::int64_t tokens);

  const base::Clock& clock_;
  MinuteRate rate_;
};

}  // namespace millrace::api
