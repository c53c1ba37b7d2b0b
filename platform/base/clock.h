#pragma once
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace millrace::base {

// Wall time in milliseconds since 1970 UTC. Used for deadlines, retention and times that people read
// (docs/design/delivery.md §5).
using WallTime = std::chrono::sys_time<std::chrono::milliseconds>;

// CLOCK_BOOTTIME in milliseconds since the boot that `Clock::boot_id` identifies. Used for leases.
struct BootClock {
  using rep = std::chrono::milliseconds::rep;
  using period = std::milli;
  using duration = std::chrono::milliseconds;
  using time_point = std::chrono::time_point<BootClock, duration>;
  static constexpr bool is_steady = true;
};
using BootTime = BootClock::time_point;

// The interface to time; tests replace it. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual WallTime wall() const = 0;
  virtual BootTime boot() const = 0;
  // The boot clock of this host. `boot` is another one if it counts for several hosts.
  virtual BootTime host_boot() const { return boot(); }
  // The kernel's boot id. When it changes, all leases of the old boot have expired.
  virtual std::string boot_id() const = 0;
};

class SystemClock final : public Clock {
 public:
  SystemClock();
  WallTime wall() const override;
  BootTime boot() const override;
  std::string boot_id() const override { return boot_id_; }

 private:
  std::string boot_id_;
};

// A clock for tests that moves only when it is called. Thread-safe.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(WallTime start = WallTime(std::chrono::milliseconds(1'700'000'000'000)));
  WallTime wall() const override;
  BootTime boot() const override;
  std::string boot_id() const override;
  void advance(std::chrono::milliseconds by);    // both clocks
  void jump_wall(std::chrono::milliseconds by);  // only the wall clock, as NTP or an operator does
  void reboot(std::string new_boot_id);          // boot time starts again at zero

 private:
  mutable std::mutex mutex_;
  WallTime wall_;
  BootTime boot_{};
  std::string boot_id_ = "boot-1";
};

inline std::int64_t millis(WallTime t) { return t.time_since_epoch().count(); }
inline std::int64_t millis(BootTime t) { return t.time_since_epoch().count(); }
inline WallTime wall_from(std::int64_t ms) { return WallTime(std::chrono::milliseconds(ms)); }
inline BootTime boot_from(std::int64_t ms) { return BootTime(std::chrono::milliseconds(ms)); }

// Formats as RFC 3339 in UTC with milliseconds and `Z`, like every date-time in a response.
std::string rfc3339(WallTime t);
void append_rfc3339(std::string& out, WallTime t);  // appends the same text
// Parses RFC 3339 with `Z` or a numeric offset. False: not such a date-time.
bool parse_rfc3339(std::string_view text, WallTime& out);

}  // namespace millrace::base
