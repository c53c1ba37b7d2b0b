#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "platform/base/clock.h"

namespace millrace::storage {

// The clock of a PostgreSQL server, which all hosts of a store share: this host's clock, moved by the
// difference to the server's that the last writing transaction saw. `boot`, in which leases count on every
// host, is the server's time less its jumps, which StoreClock records in the store. So a server that is set,
// or a promoted one with another time, is a jump of the wall clock as on one host. Thread-safe; `set` is
// called by one thread.
class PostgresClock final : public base::Clock {
 public:
  static constexpr std::int64_t kJumpMinMs = 5'000;  // less is a correction

  explicit PostgresClock(const base::Clock& own) : own_(own) {}
  // What the server was asked within the last `took`.
  struct Reading {
    base::WallTime time;
    std::chrono::milliseconds recorded;  // the sum of the jumps in the store
    std::chrono::milliseconds took;
  };
  void set(const Reading& server) {
    const std::int64_t least = base::millis(server.time) - base::millis(own_.boot());
    const std::int64_t ahead =
        is_set_ ? std::clamp(ahead_.load(), least, least + server.took.count()) : least;
    const std::int64_t step = ahead - ahead_;
    if (server.recorded != recorded_) {
      recorded_ = server.recorded;
      unrecorded_ms_ = 0;
    } else if (is_set_ && (step > kJumpMinMs || step < -kJumpMinMs)) {
      unrecorded_ms_ += step;
    }
    is_set_ = true;
    ahead_ = ahead;
    boot_ahead_ = ahead - recorded_.count() - unrecorded_ms_;
  }
  base::WallTime wall() const override { return base::wall_from(base::millis(own_.boot()) + ahead_); }
  base::BootTime boot() const override { return base::boot_from(base::millis(own_.boot()) + boot_ahead_); }
  base::BootTime host_boot() const override { return own_.boot(); }
  std::string boot_id() const override { return "postgresql"; }

 private:
  const base::Clock& own_;
  std::atomic<std::int64_t> ahead_{0};       // of the server's clock to the boot clock of this host
  std::atomic<std::int64_t> boot_ahead_{0};  // of `boot` to it
  bool is_set_ = false;
  std::chrono::milliseconds recorded_{0};
  std::int64_t unrecorded_ms_ = 0;  // jumps that nobody has recorded yet
};

}  // namespace millrace::storage
