#include "api/admission/token_limits.h"

#include "storage/tenants/quota_ledger.h"

namespace millrace::api {
namespace {

constexpr auto kTokens = schemas::Quota::kTokensPerMinute;

}  // namespace

base::Status TokenLimits::admit(Call& call) {
  const Principal& who = *call.principal;
  return admit_within_limits(
      who, kTokens, call.token_rate,
      [&](const std::string& owner, std::int64_t limit) { return rate_.look(owner, limit, clock_.boot()); });
}

void TokenLimits::charge(const Principal& who, std::int64_t tokens) {
  const base::BootTime now = clock_.boot();
  rate_.charge(who.key_id, who.key_limits.of(kTokens), tokens, now);
  rate_.charge(storage::tenant_owner(who.tenant), who.tenant_limits.of(kTokens), tokens, now);
}

}  // namespace millrace::api
