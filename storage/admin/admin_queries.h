#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/jobs/job_claims.h"
#include "storage/jobs/job_queries.h"

namespace millrace::storage {

// Ended jobs that one read examines: some 30 ms.
inline constexpr int kEndedRowsMax = 20'000;
inline constexpr std::size_t kOutcomeMinutes = 60;
// Leases shown per worker: those that end first.
inline constexpr std::size_t kLeasesShownMax = 64;
// The newest events of a job that are searched for the start of its current attempt.
inline constexpr int kEventsExaminedMax = 256;

struct OutcomeCounts {
  std::int64_t succeeded = 0, failed = 0, cancelled = 0, expired = 0;
  // Commands that exited with an error: kCommandFailed. That is a result, so they are not in `failed`.
  std::int64_t commands_failed = 0;
};

// By nearest rank; absent: no values.
struct Percentiles {
  std::optional<std::chrono::milliseconds> p50{}, p95{};
};

// The ended jobs of a kind and their durations; the percentiles are of the last hour.
struct KindOutcomes {
  schemas::Kind kind;
  OutcomeCounts minute{}, hour{}, day{};
  // Per clock minute, the oldest first. The last one is the minute of `RecentOutcomes::at` and is not
  // complete. Bad: failed or expired.
  std::array<int, kOutcomeMinutes> good{}, bad{};
  Percentiles wait{}, run{};
};

struct RecentOutcomes {
  base::WallTime at{};                // time of the read
  std::vector<KindOutcomes> kinds{};  // all but internal kinds
  // Set: more jobs ended within the day than were examined; the counts start at this time.
  std::optional<base::WallTime> since{};
};

// Jobs of one kind that failed with the same error code.
struct FailureGroup {
  schemas::Kind kind;
  std::string code;
  std::int64_t jobs = 0;
  schemas::JobView newest{};  // by creation time
};

struct WorkerSlots {
  schemas::Kind kind;
  int slots = 0, used = 0;
  std::vector<schemas::PartitionLag> lags{};  // of its partitions
};

struct WorkerView {
  std::string name, host, version;
  base::WallTime seen_at{};
  bool live = false;      // its last heartbeat is at most kWorkerTimeout old
  bool draining = false;  // it claims no new jobs
  std::vector<WorkerSlots> slots{};
};

// A worker's lease of one attempt, with its current state.
struct HeldLease {
  schemas::JobId job;         // of a part: the parent job
  std::optional<int> part{};  // number of the part, from 0
  std::string tenant{};
  int attempt = 0;
  std::optional<base::WallTime> since{};  // start of this attempt; absent: unknown
  // Below zero: expired for this long, about to be taken back. Absent: of another boot, so it has expired.
  std::optional<std::chrono::milliseconds> remaining{};
};

struct WorkerLeases {
  std::string worker;
  std::int64_t held = 0;            // all leases
  std::vector<HeldLease> leases{};  // at most kLeasesShownMax; the oldest job first
};

// Reads over all tenants, for administrators. Root jobs only. Blocking: for pool threads and tests.
class AdminQueries {
 public:
  explicit AdminQueries(Store& store) : store_(store) {}

  base::Result<RecentOutcomes> outcomes(int rows_max = kEndedRowsMax);
  base::Result<std::vector<FailureGroup>> failures();  // of the jobs that are kept; the largest group first
  base::Result<std::vector<WorkerView>> workers();     // by name
  // Of the workers that hold leases. The cost depends only on the number of running jobs.
  base::Result<std::vector<WorkerLeases>> leases();
  // Like JobQueries::list, for all tenants; children count as examined rows.
  base::Result<JobPage> jobs(const JobFilter& filter, int limit, std::optional<base::Uuid> before,
                             int rows_max = kListRowsMax);
  // The given jobs that exist.
  base::Result<std::vector<schemas::JobView>> jobs(const std::vector<schemas::JobId>& ids);

 private:
  Store& store_;
};

}  // namespace millrace::storage
