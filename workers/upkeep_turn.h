#pragma once
#include <chrono>
#include <optional>
#include <string>

#include "platform/base/clock.h"
#include "platform/base/fd.h"
#include "storage/lock_file.h"

namespace millrace::workers {

// Which process of a data directory does upkeep: whoever holds DATA/locks/upkeep.lock. One that is stopped
// (SIGSTOP, a frozen container) holds it and does nothing; so each also notes in that file when its next
// round begins, and for one that is `patience` late another process stands in until somebody else renews the
// note. One that is merely slow is stood in for as well. Two at a time do no harm: each statement of upkeep
// repeats its condition (delivery.md, Leases and upkeep). One thread at a time; blocks for a write of a few
// bytes.
class UpkeepTurn {
 public:
  UpkeepTurn() = default;
  // Makes the file.
  static base::Result<UpkeepTurn> open(const std::string& path, std::chrono::milliseconds patience);

  // Whether the round that is due is ours to do.
  bool is_ours(base::BootTime now);
  // After a round of ours.
  void note_next(base::BootTime next);
  void give_up();

 private:
  UpkeepTurn(storage::LockFile lock, base::Fd file, std::chrono::milliseconds patience);
  std::optional<base::BootTime> noted() const;
  bool stand_in(base::BootTime now);

  storage::LockFile lock_;
  base::Fd file_;  // the lock's, once more: a LockFile lends its descriptor to nobody
  std::chrono::milliseconds patience_{};
  bool holds_ = false;
  std::optional<base::BootTime> stood_in_;  // our note, while we stand in for who holds the lock
};

}  // namespace millrace::workers
