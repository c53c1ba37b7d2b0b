#include "api/admission/minute_rate.h"

#include <algorithm>

#include "api/reply.h"
#include "storage/tenants/quota_ledger.h"

namespace millrace::api {
namespace {

constexpr std::int64_t kMinuteUs = 60'000'000;

std::chrono::milliseconds whole_ms(std::int64_t us) { return std::chrono::milliseconds((us + 999) / 1000); }

}  // namespace

std::int64_t MinuteRate::part_of(std::int64_t per_minute) const {
  return std::max<std::int64_t>(1, per_minute / processes_());
}

MinuteRate::Count MinuteRate::count(std::int64_t free_at_us, std::int64_t per_minute,
                                    std::int64_t now_us) const {
  const std::int64_t part = part_of(per_minute);
  const std::int64_t each_us = kMinuteUs / part;
  const std::int64_t all_us = each_us * part;
  const std::int64_t used_us = free_at_us - now_us;
  const std::int64_t left = std::max<std::int64_t>(0, (all_us - used_us) / each_us);
  return {.limit = per_minute,
          .remaining = left == part ? per_minute : left * (per_minute / part),
          .reset = whole_ms(used_us),
          .retry_after = whole_ms(std::max<std::int64_t>(0, used_us + each_us - all_us))};
}

std::optional<MinuteRate::Count> MinuteRate::take(const std::string& owner, std::int64_t per_minute,
                                                  base::BootTime now) {
  if (per_minute > kMax) return std::nullopt;
  if (per_minute == 0) return Count{.reset = std::chrono::minutes(1), .retry_after = std::chrono::minutes(1)};
  const std::int64_t now_us = base::millis(now) * 1000;
  const std::lock_guard lock(mutex_);
  std::int64_t& free_at_us = free_at_us_[owner];
  free_at_us = std::max(free_at_us, now_us);
  const Count before = count(free_at_us, per_minute, now_us);
  if (before.retry_after.count() > 0) return before;
  free_at_us += kMinuteUs / part_of(per_minute);
  Count after = count(free_at_us, per_minute, now_us);
  after.retry_after = std::chrono::milliseconds(0);
  return after;
}

std::optional<MinuteRate::Count> MinuteRate::look(const std::string& owner, std::int64_t per_minute,
                                                  base::BootTime now) {
  if (per_minute > kMax) return std::nullopt;
  if (per_minute == 0) return Count{.reset = std::chrono::minutes(1), .retry_after = std::chrono::minutes(1)};
  const std::int64_t now_us = base::millis(now) * 1000;
  const std::lock_guard lock(mutex_);
  const auto found = free_at_us_.find(owner);
  const std::int64_t free_at_us = found == free_at_us_.end() ? now_us : std::max(found->second, now_us);
  return count(free_at_us, per_minute, now_us);
}

void MinuteRate::charge(const std::string& owner, std::int64_t per_minute, std::int64_t units,
                        base::BootTime now) {
  if (per_minute > kMax || per_minute == 0) return;
  units = std::clamp(units, -kMax, kMax);  // an upstream reports them
  const std::int64_t now_us = base::millis(now) * 1000;
  const std::lock_guard lock(mutex_);
  std::int64_t& free_at_us = free_at_us_[owner];
  free_at_us = std::max(free_at_us, now_us) + kMinuteUs / part_of(per_minute) * units;
}

base::Status admit_within_limits(MinuteRate& rate, RateUse use, const Principal& principal,
                                 schemas::Quota quota, base::BootTime now,
                                 std::optional<MinuteRate::Count>& shown) {
  const std::int64_t key_limit = principal.key_limits.of(quota);
  const std::int64_t tenant_limit = principal.tenant_limits.of(quota);
  const std::string tenant = storage::tenant_owner(principal.tenant);
  auto of_key = rate.look(principal.first_key_id, key_limit, now);
  auto of_tenant = rate.look(tenant, tenant_limit, now);
  const auto is_over = [](const std::optional<MinuteRate::Count>& count) {
    return count && count->retry_after.count() > 0;
  };
  if (use == RateUse::kCount && !is_over(of_key) && !is_over(of_tenant)) {
    of_key = rate.take(principal.first_key_id, key_limit, now);
    of_tenant = rate.take(tenant, tenant_limit, now);
  }
  if (principal.tenant_own_limits[quota]) shown = of_tenant;
  if (of_key && (!shown || of_key->remaining <= shown->remaining)) shown = of_key;
  if (!is_over(of_key) && !is_over(of_tenant)) return {};
  const bool key_is_over = is_over(of_key);
  shown = key_is_over ? of_key : of_tenant;
  base::Error error = storage::quota_error(quota, shown->limit, key_is_over);
  error.retry_after = shown->retry_after;
  return error;
}

void add_rate_headers(front::Reply& reply, const MinuteRate::Count& count, std::string_view unit) {
  const auto add = [&](std::string_view what, const std::string& value) {
    add_header(reply, std::string("x-ratelimit-").append(what).append("-").append(unit), value);
  };
  add("limit", std::to_string(count.limit));
  add("remaining", std::to_string(count.remaining));
  add("reset", reset_text(count.reset));
}

std::string reset_text(std::chrono::milliseconds reset) {
  const std::int64_t seconds = (reset.count() + 999) / 1000;
  const std::string rest = std::to_string(seconds % 60) + "s";
  return seconds < 60 ? rest : std::to_string(seconds / 60) + "m" + rest;
}

}  // namespace millrace::api
