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
// The number of jobs that one step reads, in all queues together.
inline constexpr int kJobsPerScan = 4096;
// Even if nothing is due, the queues are scanned from their first job this often, because ids may not be in
// the order of time.
inline constexpr std::chrono::hours kScanInterval{1};

// An untouched job: queued, never changed, and to be started within schemas::kDefaultJobDeadline. Such a job
// has no entry in jobs_deadline (0010_fresh_deadlines.sql), which saves one index insert per accepted job. It
// is found in its queue, which is ordered by id and so by time. It may be found late by as much as the order
// of ids and commits differs: as long as an operation waited for its group, or as far as the wall clock went
// back. All times here are steady times (StoreClock).
//
// Scans the first jobs of each queue, as many queues and jobs per step as the limits allow. Remembers its
// position and the earliest deadline that it has seen; until then it need not scan, because jobs that come
// later are due a day later. Any number of touched jobs may precede the untouched ones: those that waited for
// their run_at, parts, and jobs with another deadline. A scan remembers up to which id all jobs are touched,
// and the next ones begin there. Thread-safe.
class DeadlineScanner {
 public:
  // When the next scan is due: no untouched job of this store is due before. Absent: now.
  std::optional<base::WallTime> next_scan(base::BootTime boot) const;
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
    base::Uuid id;
    base::WallTime due;
  };
  // A queue that was examined, up to `next` if it was not read to its end.
  struct Position {
    Head queue;
    std::optional<base::Uuid> next;
  };
  struct Step {
    base::WallTime now;
    std::size_t jobs_max;
    int jobs_left_to_read = kJobsPerScan;
    std::vector<base::Uuid> ids;
  };
  bool is_scan_from_start_due(base::BootTime boot) const;
  void begin_scan(base::BootTime boot);
  void end_scan(base::WallTime now);
  std::optional<Head> next_head(Db& db) const;
  bool read_queue(Db& db, const Head& queue, const base::Uuid& from, Step& step);
  void add_open(const base::Uuid& id, base::WallTime due);

  mutable std::mutex mutex_;
  base::WallTime next_scan_{};                   // the first scan begins at once
  std::optional<base::BootTime> from_start_at_;  // when the last scan from the first jobs began
  base::Uuid first_id_;                          // all jobs with smaller ids are touched
  bool is_scanning_ = false;                     // between the first and the last step of a scan
  std::optional<Position> at_;                   // the last queue that this scan has examined
  std::optional<base::WallTime> first_due_;      // the earliest deadline of this scan
  std::optional<base::Uuid> first_open_;         // the smallest id of this scan that may be untouched
};

}  // namespace millrace::storage
