#pragma once
#include "storage/writer.h"

namespace millrace::storage {

// Maintains the writer's ClockTrust. It is called with the clocks of each group when the group starts and
// when it has committed. It logs jumps of the wall clock. Commit thread only.
class ClockWatch {
 public:
  static constexpr std::chrono::milliseconds kCommitGapMax{10'000};
  static constexpr std::chrono::milliseconds kClocksApartMax{5'000};

  ClockWatch(base::WallTime now, base::BootTime boot);
  void group_begins(base::WallTime now, base::BootTime boot);
  void group_committed(base::BootTime boot) { trust_.last_commit = boot; }
  const ClockTrust& trust() const { return trust_; }

 private:
  ClockTrust trust_;
  base::BootTime opened_;
  std::chrono::milliseconds offset_;  // wall time minus boot time at the last group
};

}  // namespace millrace::storage
