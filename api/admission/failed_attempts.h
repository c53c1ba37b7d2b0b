#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "platform/base/clock.h"

namespace millrace::api {

// Limits wrong API keys (limits.failed_keys_per_minute): of one client address, and of one address for one
// key id. A full minute's attempts may fail at once; after that one more every 60 s / limit. An IPv6 address
// counts as its /64 network. Thread-safe.
class FailedAttempts {
 public:
  static constexpr int kPerMinute = 20;
  static constexpr std::size_t kAddressesMax = 20'000;  // tracked at once; above it, all are forgotten

  explicit FailedAttempts(int per_minute) : per_minute_(per_minute) {}  // 0: no limit

  // Above 0: too many attempts have failed; a wrong key gets 429 for this time. A right one is not affected.
  std::chrono::milliseconds retry_after(std::string_view address, base::BootTime now);
  std::chrono::milliseconds retry_after(std::string_view address, std::string_view key_id,
                                        base::BootTime now);
  // An attempt has failed: an unknown id, or a wrong key for this id.
  void add(std::string_view address, base::BootTime now);
  void add(std::string_view address, std::string_view key_id, base::BootTime now);

 private:
  bool is_idle(base::BootTime now) const { return base::millis(now) >= all_free_at_ms_; }
  std::chrono::milliseconds wait_for(const std::string& name, base::BootTime now);
  void count(const std::string& name, base::BootTime now);

  const int per_minute_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::int64_t> free_at_ms_;  // when all attempts are available again
  std::atomic<std::int64_t> all_free_at_ms_{0};               // the latest of these
};

}  // namespace millrace::api
