#pragma once
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "platform/base/clock.h"
#include "storage/sql.h"

namespace millrace::storage {

// The number of queues (one per kind, tenant and priority) whose first job one step examines.
inline constexpr int kHeadsPerScan = 512;
// Even if nothing is due, the queues are scanned this often, because the wall clock may have been set back.
inline constexpr std::chrono::hours kScanInterval{1};

// An untouched job: queued, never changed, and to be started within schemas::kDefaultJobDeadline. Such a job
// has no entry in jobs_deadline (0010_fresh_deadlines.sql), which saves one index insert per accepted job. It
// is found in its queue, which is ordered by id and so by time. It may be found late by as much as the order
// of ids and commits differs: as long as an operation waited for its group, or as far as the wall clock went
// back.
//
// Scans the first job of each queue, as many queues per step as the limit allows. Remembers its position and
// the earliest deadline that it has seen; until then it need not scan, because jobs that come later are due a
// day later. Thread-safe.
class DeadlineScanner {
 public:
  // When the next scan is due: no untouched job of this store is due before. A time in the past means now.
  base::WallTime next_scan(base::BootTime boot) const;
  // The next untouched jobs that are due, at most `limit`. None before `next_scan`. REQUIRES: the caller ends
  // them; otherwise they are returned again.
  std::vector<base::Uuid> due(Db& db, base::WallTime now, base::BootTime boot, int limit);

  // True if a queue that may hold untouched jobs is not empty. Reads.
  static bool any_queued(Db& db);

 private:
  struct Head {
    std::int64_t kind = 0;
    std::string tenant;
    std::int64_t priority = 0;
    base::WallTime due;
  };
  bool is_scan_due(base::WallTime now, base::BootTime boot) const;
  std::optional<Head> next_head(Db& db) const;
  static void add_due_jobs(Db& db, const Head& queue, base::WallTime now, std::size_t limit,
                           std::vector<base::Uuid>& ids);
  void end_scan(base::WallTime now, base::BootTime boot);

  mutable std::mutex mutex_;
  base::WallTime next_scan_{};                // the first scan begins at once
  std::optional<base::BootTime> scanned_at_;  // the end of the last complete scan
  std::optional<Head> at_;                    // the last queue that was examined; absent: between two scans
  std::optional<base::WallTime> first_due_;   // the earliest deadline of this scan
};

}  // namespace millrace::storage
