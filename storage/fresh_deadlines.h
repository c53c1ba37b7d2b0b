#pragma once
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "platform/base/clock.h"
#include "storage/sqlite.h"

namespace millrace::storage {

// The deadline of a fresh job: queued, never touched, made to start within a day. Such a job has no entry in
// jobs_deadline (0010_fresh_deadlines.sql), which spares each accept one index; it is found in its queue,
// which is ordered by id and so by time. How late it may be found: by as much as ids and commits differ in
// their order, that is as long as an operation waited for its group, or as far as the wall clock went back.
inline constexpr std::chrono::hours kFreshDeadline{24};
// The heads of queues (a kind's, tenant's and priority's jobs) that one step looks at.
inline constexpr int kHeadsPerLook = 512;
// Even if nothing is due the heads are looked at this often: the wall clock may have been set back.
inline constexpr std::chrono::hours kLookAtLeast{1};

// Goes from head to head, as many per step as the bound allows, and remembers where it is and when the first
// of what it has seen is due: until then nothing has to be looked at, for what comes later is due a day
// later. Thread-safe.
class FreshDeadlines {
 public:
  // When the heads are to be looked at: no fresh job of this store is due before. The past: now.
  base::WallTime next_look(base::BootTime boot) const;
  // The next fresh jobs that are due, at most `limit`. None before
  // `next_look`. REQUIRES: the caller ends them, or they come again.
  std::vector<base::Uuid> due(Db& db, base::WallTime now, base::BootTime boot, int limit);

  // True: a queue that may hold fresh jobs has a job in it. Reads.
  static bool any_queued(Db& db);

 private:
  struct Head {
    std::int64_t kind = 0;
    std::string tenant;
    std::int64_t priority = 0;
    base::WallTime due;
  };
  bool is_time(base::WallTime now, base::BootTime boot) const;
  std::optional<Head> next_head(Db& db) const;
  static void add_due(Db& db, const Head& queue, base::WallTime now, std::size_t limit,
                      std::vector<base::Uuid>& ids);
  void end_lap(base::WallTime now, base::BootTime boot);

  mutable std::mutex mutex_;
  base::WallTime next_look_{};               // the first lap begins at once
  std::optional<base::BootTime> looked_at_;  // the end of the last whole lap
  std::optional<Head> at_;                   // the last head that was seen; absent: between two laps
  std::optional<base::WallTime> first_due_;  // of this lap
};

}  // namespace millrace::storage
