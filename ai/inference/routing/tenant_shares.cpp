#include "ai/inference/routing/tenant_shares.h"

#include <algorithm>
#include <utility>

namespace millrace::inference {
namespace {

// Beyond so many tenants, those whose last call no longer counts are forgotten.
constexpr std::size_t kTenantsKept = 1024;
constexpr std::chrono::minutes kForgetAfter{2};

template <class Limit>
Limit share_of(Limit limit) {
  return limit <= 0 ? 0 : std::max<Limit>(1, limit - (limit + 7) / 8);
}

}  // namespace

ModelLimits TenantShares::share(const ModelLimits& limits) {
  return {.concurrent = share_of(limits.concurrent),
          .requests_per_minute = share_of(limits.requests_per_minute),
          .tokens_per_minute = share_of(limits.tokens_per_minute)};
}

bool TenantShares::is_shared(const std::string& tenant, SteadyTime now) {
  if (last_.tenant != tenant) {
    last_other_ = std::move(last_);
    last_.tenant = tenant;
  }
  last_.at = now;
  return last_other_.at != SteadyTime{} && now < last_other_.at + kUserFor;
}

TenantShares::Wait TenantShares::wait(const ModelLimits& share, const std::string& tenant, double tokens,
                                      SteadyTime now) {
  const auto found = tenants_.find(tenant);
  if (found == tenants_.end()) return {};
  Usage& usage = found->second;
  return {.concurrent = share.concurrent > 0 && usage.running >= share.concurrent,
          .requests = usage.requests.wait(share.requests_per_minute, 1, now),
          .tokens = usage.tokens.wait(share.tokens_per_minute, tokens, now)};
}

void TenantShares::take(const ModelLimits& limits, const std::string& tenant, int requests, double tokens,
                        SteadyTime now) {
  if (limits.requests_per_minute <= 0 && limits.tokens_per_minute <= 0) return;
  if (tenants_.size() >= kTenantsKept) forget_unused(now);
  Usage& usage = tenants_[tenant];
  usage.used_at = now;
  usage.requests.take(limits.requests_per_minute, requests, now);
  usage.tokens.take(limits.tokens_per_minute, tokens, now);
}

void TenantShares::entered(const std::string& tenant) { ++tenants_[tenant].running; }

void TenantShares::left(const std::string& tenant) {
  const auto found = tenants_.find(tenant);
  Usage& usage = found->second;
  if (--usage.running == 0 && usage.waiting == 0 && usage.used_at == SteadyTime{}) tenants_.erase(found);
}

int TenantShares::running(const std::string& tenant) const {
  const auto found = tenants_.find(tenant);
  return found == tenants_.end() ? 0 : found->second.running;
}

void TenantShares::add_waiting(const std::string& tenant, int count) { tenants_[tenant].waiting += count; }

int TenantShares::waiting(const std::string& tenant) const {
  const auto found = tenants_.find(tenant);
  return found == tenants_.end() ? 0 : found->second.waiting;
}

void TenantShares::forget_unused(SteadyTime now) {
  std::erase_if(tenants_, [&](const auto& each) {
    const Usage& usage = each.second;
    return usage.running == 0 && usage.waiting == 0 && usage.used_at + kForgetAfter < now;
  });
}

}  // namespace millrace::inference
