#pragma once
#include <cstdint>

#include "api/admission/auth.h"
#include "api/admission/minute_rate.h"
#include "api/call.h"
#include "platform/base/clock.h"
#include "platform/base/result.h"

namespace millrace::api {

// tokens_per_minute of tenants and keys, for chat requests that are answered directly. A request is admitted
// while a token is left, and its tokens are charged when they are known. Deferred chats are not counted:
// workers pace them. Thread-safe.
class TokenLimits {
 public:
  explicit TokenLimits(const base::Clock& clock) : clock_(clock) {}

  // kQuotaExceeded: the tenant or the key has no token left. Sets Call::token_rate if a limit was set.
  base::Status admit(Call& call);
  void charge(const Principal& who, std::int64_t tokens);

 private:
  const base::Clock& clock_;
  MinuteRate rate_;
};

}  // namespace millrace::api
