#pragma once
#include <chrono>
#include <optional>
#include <string>

#include "platform/base/clock.h"
#include "storage/db/db.h"

namespace millrace::storage {

// Records the jumps of the wall clock in the store. Steady time is wall time less the sum of these jumps, and
// goes on as the boot clock does
// (docs/adr/0049-times-that-a-duration-makes-are-compared-in-steady-time.md).
//
// Commit thread only.
class StoreClock {
 public:
  static constexpr std::chrono::milliseconds kJumpMin{5'000};  // less is a correction
  // A clock that is set back this soon after the first commit of a boot was wrong only since that boot.
  static constexpr std::chrono::milliseconds kBootGrace{3'600'000};
  static constexpr std::chrono::milliseconds kSeenPeriod{60'000};  // between two writes of `seen_at`

  explicit StoreClock(std::int64_t boot_number) : boot_number_(boot_number) {}

  // Runs first in the transaction of each group. Returns the sum of all jumps. Writes only after a jump and
  // every kSeenPeriod.
  std::chrono::milliseconds on_group_begin(Db& db, base::WallTime now, base::BootTime boot);
  void on_group_committed();

 private:
  struct Recorded {
    std::chrono::milliseconds offset, jumped;
  };
  Recorded record(Db& db, base::WallTime now, base::BootTime boot) const;

  std::int64_t boot_number_;
  std::optional<Recorded> recorded_;  // as committed
  std::optional<Recorded> pending_;   // as written by the open transaction
  base::BootTime seen_at_{};
};

// The sum of all jumps. Reads.
std::chrono::milliseconds clock_jumps(Db& db);

}  // namespace millrace::storage
