#include "api/admission/token_limits.h"

#include "storage/tenants/quota_ledger.h"

namespace millrace::api {
namespace {

constexpr auto kTokens = schemas::Quota::kTokensPerMinute;
constexpr std::size_t kBytesPerToken = 4;  // of English text

}  // namespace

base::Status TokenLimits::admit(Call& call, std::size_t request_bytes) {
  const Principal& principal = *call.principal;
  auto admitted =
      admit_within_limits(rate_, RateUse::kLook, principal, kTokens, clock_.boot(), call.token_rate);
  if (!admitted) return admitted;
  call.tokens_charged = static_cast<std::int64_t>(request_bytes / kBytesPerToken);
  charge(principal, call.tokens_charged);
  return {};
}

void TokenLimits::settle(Call& call, std::int64_t tokens) {
  charge(*call.principal, tokens - call.tokens_charged);
  call.tokens_charged = tokens;
}

void TokenLimits::charge(const Principal& principal, std::int64_t tokens) {
  const base::BootTime now = clock_.boot();
  rate_.charge(principal.first_key_id, principal.key_limits.of(kTokens), tokens, now);
  rate_.charge(storage::tenant_owner(principal.tenant), principal.tenant_limits.of(kTokens), tokens, now);
}

}  // namespace millrace::api
