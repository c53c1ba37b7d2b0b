#include "api/admission/failed_attempts.h"

#include <algorithm>

#include "platform/base/ip_address.h"

namespace millrace::api {
namespace {

constexpr std::int64_t kMinuteMs = 60'000;

std::string name_of(std::string_view address, std::string_view key_id) {
  return base::client_of(address).append(key_id);
}

}  // namespace

std::chrono::milliseconds FailedAttempts::retry_after(std::string_view address, base::BootTime now) {
  return is_idle(now) ? std::chrono::milliseconds(0) : wait_for(base::client_of(address), now);
}

std::chrono::milliseconds FailedAttempts::retry_after(std::string_view address, std::string_view key_id,
                                                      base::BootTime now) {
  return is_idle(now) ? std::chrono::milliseconds(0) : wait_for(name_of(address, key_id), now);
}

void FailedAttempts::add(std::string_view address, base::BootTime now) {
  count(base::client_of(address), now);
}

void FailedAttempts::add(std::string_view address, std::string_view key_id, base::BootTime now) {
  count(base::client_of(address), now);
  count(name_of(address, key_id), now);
}

std::chrono::milliseconds FailedAttempts::wait_for(const std::string& name, base::BootTime now) {
  const std::lock_guard lock(mutex_);
  const auto found = free_at_ms_.find(name);
  if (found == free_at_ms_.end()) return {};
  const std::int64_t each_ms = kMinuteMs / per_minute_;
  const std::int64_t too_soon_ms = found->second + each_ms - base::millis(now) - each_ms * per_minute_;
  return std::chrono::milliseconds(std::max<std::int64_t>(too_soon_ms, 0));
}

void FailedAttempts::count(const std::string& name, base::BootTime now) {
  if (per_minute_ == 0) return;
  const std::int64_t now_ms = base::millis(now);
  const std::lock_guard lock(mutex_);
  if (free_at_ms_.size() >= kAddressesMax) {
    std::erase_if(free_at_ms_, [now_ms](const auto& each) { return each.second <= now_ms; });
    if (free_at_ms_.size() >= kAddressesMax) free_at_ms_.clear();
  }
  std::int64_t& free_at_ms = free_at_ms_[name];
  free_at_ms = std::max(free_at_ms, now_ms) + kMinuteMs / per_minute_;
  all_free_at_ms_ = std::max(all_free_at_ms_.load(), free_at_ms);
}

}  // namespace millrace::api
