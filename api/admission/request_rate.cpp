#include "api/admission/request_rate.h"

#include <algorithm>

#include "api/reply.h"

namespace millrace::api {
namespace {

constexpr std::int64_t kMinuteUs = 60'000'000;

std::chrono::milliseconds whole_ms(std::int64_t us) { return std::chrono::milliseconds((us + 999) / 1000); }

}  // namespace

std::optional<RequestRate::Count> RequestRate::count(const std::string& key_id, base::BootTime now) {
  if (per_minute_ == 0) return std::nullopt;
  const std::int64_t each_us = kMinuteUs / per_minute_;
  const std::int64_t all_us = each_us * per_minute_;
  const std::int64_t now_us = base::millis(now) * 1000;
  const std::lock_guard lock(mutex_);
  std::int64_t& free_at_us = free_at_us_[key_id];
  free_at_us = std::max(free_at_us, now_us);
  Count out{.limit = per_minute_};
  const std::int64_t too_soon_us = free_at_us + each_us - now_us - all_us;
  if (too_soon_us > 0) {
    out.retry_after = whole_ms(too_soon_us);
  } else {
    free_at_us += each_us;
    out.remaining = static_cast<int>((all_us - (free_at_us - now_us)) / each_us);
  }
  out.reset = whole_ms(free_at_us - now_us);
  return out;
}

void add_rate_headers(front::Reply& reply, const RequestRate::Count& count) {
  add_header(reply, "x-ratelimit-limit-requests", std::to_string(count.limit));
  add_header(reply, "x-ratelimit-remaining-requests", std::to_string(count.remaining));
  add_header(reply, "x-ratelimit-reset-requests", reset_text(count.reset));
}

std::string reset_text(std::chrono::milliseconds reset) {
  const std::int64_t seconds = (reset.count() + 999) / 1000;
  const std::string rest = std::to_string(seconds % 60) + "s";
  return seconds < 60 ? rest : std::to_string(seconds / 60) + "m" + rest;
}

}  // namespace millrace::api
