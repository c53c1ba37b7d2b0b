#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/job_claims.h"
#include "storage/job_queries.h"

namespace millrace::storage {

// Jobs that one look at what ended lately reads: some 30 ms.
inline constexpr int kEndedRowsMax = 20'000;
inline constexpr std::size_t kEndMinutes = 60;
// Leases that are shown of one worker: those that end first.
inline constexpr std::size_t kLeasesShownMax = 64;
// Of a job's events, the newest: the beginning of its present attempt is looked for in them.
inline constexpr int kEventsLookedAtMax = 256;

struct EndCounts {
  std::int64_t succeeded = 0, failed = 0, cancelled = 0, expired = 0;
};

// Nearest rank; absent: nothing to take it of.
struct Spread {
  std::optional<std::chrono::milliseconds> p50{}, p95{};
};

// What ended of a kind, and how long it took: the spreads are of the last hour.
struct KindEnds {
  schemas::Kind kind;
  EndCounts minute{}, hour{}, day{};
  // Per minute of the clock, the oldest first; the last one is that of `RecentEnds::at` and not over. Bad:
  // failed or expired.
  std::array<int, kEndMinutes> good{}, bad{};
  Spread wait{}, run{};
};

struct RecentEnds {
  base::WallTime at{};            // of the look
  std::vector<KindEnds> kinds{};  // all but internal ones
  // Set: more ended within the day than were looked at; the counts are of what ended from then on.
  std::optional<base::WallTime> since{};
};

// Jobs of one kind that failed of one thing.
struct DeadGroup {
  schemas::Kind kind;
  std::string code;
  std::int64_t jobs = 0;
  schemas::JobView newest{};  // by the time of its making
};

struct WorkerSlots {
  schemas::Kind kind;
  int slots = 0, used = 0;
  std::vector<PartitionLag> lags{};  // of its partitions
};

struct WorkerView {
  std::string name, host, version;
  base::WallTime seen_at{};
  bool live = false;      // heard of within kWorkerAlive
  bool draining = false;  // it takes nothing new
  std::vector<WorkerSlots> slots{};
};

// The right of a worker to one attempt, as it stands now.
struct HeldLease {
  schemas::JobId job;         // of a part: the job whose part it is
  std::optional<int> part{};  // its number, from 0
  std::string tenant{};
  int attempt = 0;
  std::optional<base::WallTime> since{};  // when this attempt began; absent: that is not known
  // Below zero: over for so long, and about to be taken back. Absent: it is of another boot, and over.
  std::optional<std::chrono::milliseconds> remaining{};
};

struct WorkerLeases {
  std::string worker;
  std::int64_t held = 0;            // all of them
  std::vector<HeldLease> leases{};  // kLeasesShownMax at most; the oldest job first
};

// Reads over all tenants, for administrators. Root jobs only. Blocking: pool threads and tests.
class AdminQueries {
 public:
  explicit AdminQueries(Store& store) : store_(store) {}

  base::Result<RecentEnds> ends(int rows_max = kEndedRowsMax);
  base::Result<std::vector<DeadGroup>> dead();      // of what is kept; the largest first
  base::Result<std::vector<WorkerView>> workers();  // by name
  // Of the workers that hold any. It costs what there are jobs that run, however many wait or have ended.
  base::Result<std::vector<WorkerLeases>> leases();
  // As JobQueries::list, of every tenant; children count among the rows that are looked at.
  base::Result<JobPage> jobs(const JobFilter& filter, int limit, std::optional<base::Uuid> before,
                             int rows_max = kListRowsMax);
  // Those of them that exist.
  base::Result<std::vector<schemas::JobView>> jobs(const std::vector<schemas::JobId>& ids);

 private:
  Store& store_;
};

}  // namespace millrace::storage
