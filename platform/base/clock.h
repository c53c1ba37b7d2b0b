#pragma once
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace millrace::base {

// Wall time, milliseconds since 1970 UTC: deadlines, retention and what people read (docs/design/delivery.md
// §5).
using WallTime = std::chrono::sys_time<std::chrono::milliseconds>;

// CLOCK_BOOTTIME, milliseconds since the boot that `Clock::boot_id` names: leases.
struct BootClock {
  using rep = std::chrono::milliseconds::rep;
  using period = std::milli;
  using duration = std::chrono::milliseconds;
  using time_point = std::chrono::time_point<BootClock, duration>;
  static constexpr bool is_steady = true;
};
using BootTime = BootClock::time_point;

// The seam to time. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual WallTime wall() const = 0;
  virtual BootTime boot() const = 0;
  // The kernel's boot id; another id means that every lease of the old one is over.
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

// Moves only when told to. Thread-safe.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(WallTime start = WallTime(std::chrono::milliseconds(1'700'000'000'000)));
  WallTime wall() const override;
  BootTime boot() const override;
  std::string boot_id() const override;
  void advance(std::chrono::milliseconds by);    // both clocks
  void jump_wall(std::chrono::milliseconds by);  // the wall clock alone, as NTP or an operator does
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

// RFC 3339 in UTC with milliseconds and `Z`, as every date-time in a reply.
std::string rfc3339(WallTime t);
void append_rfc3339(std::string& out, WallTime t);  // the same text
// Parses RFC 3339 with `Z` or a numeric offset; false if it is not one.
bool parse_rfc3339(std::string_view text, WallTime& out);

}  // namespace millrace::base
