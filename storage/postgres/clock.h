#pragma once
#include <atomic>
#include <string>

#include "platform/base/clock.h"

namespace millrace::storage {

// The clock of a PostgreSQL server, which all hosts of a store share: this host's clock, moved by the
// difference to the server's that the last writing transaction saw. `boot` is the same time, because leases
// count in it on every host. Thread-safe.
class PostgresClock final : public base::Clock {
 public:
  explicit PostgresClock(const base::Clock& own) : own_(own) {}
  void set(base::WallTime server) { ahead_ = base::millis(server) - base::millis(own_.boot()); }
  base::WallTime wall() const override { return base::wall_from(base::millis(own_.boot()) + ahead_); }
  base::BootTime boot() const override { return base::boot_from(base::millis(own_.boot()) + ahead_); }
  std::string boot_id() const override { return "postgresql"; }

 private:
  const base::Clock& own_;
  std::atomic<std::int64_t> ahead_{0};  // of the server's clock to the boot clock of this host
};

}  // namespace millrace::storage
