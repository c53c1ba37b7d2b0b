#pragma once
#include <chrono>
#include <utility>
#include <vector>

#include "storage/jobs/job_rows.h"
#include "storage/store.h"

// Inside storage: helpers of all maintenance steps.
namespace millrace::storage {

inline constexpr std::size_t kStepBytes = 4096;
// Retention waits this long after a clock jump (docs/design/delivery.md §5).
inline constexpr std::chrono::hours kRetentionGrace{1};
// No job expires this long after a clock jump or a start. If the clock is corrected within this time, it has
// expired nothing.
inline constexpr std::chrono::minutes kDeadlineGrace{1};

// False for one lease after the clocks jumped or this process or its clocks stood still: workers may have had
// no chance to renew their leases.
bool may_expire_leases(const Tx& tx, std::chrono::milliseconds lease);
// False for kRetentionGrace after a clock jump.
bool may_delete_rows(const Tx& tx);
// False for kDeadlineGrace after a clock jump and after the store was opened: the clock may have been wrong
// then.
bool may_expire_jobs(const Tx& tx);
// Jobs that JobIntake::remove or MachineFiles has marked and that have ended, with all their parts.
std::vector<base::Uuid> removed_and_ended(Db& db, int limit);

// Submits a write that returns the number of rows it changed.
template <class Step>
void submit_step(Store& store, Writer::Priority priority, Callback<int> done, Step step) {
  submit_write<int>(
      store.writer(), priority, kStepBytes,
      [step = std::move(step)](Tx& tx) -> base::Result<int> { return step(tx); }, std::move(done));
}

// The ids in column 0 of all rows.
inline std::vector<base::Uuid> ids(Statement& s) {
  std::vector<base::Uuid> found;
  while (s.step()) found.push_back(s.uuid(0));
  return found;
}

// Reads each job's row and calls `f` with it; returns the number of rows found.
template <class F>
int for_each_job(Db& db, const std::vector<base::Uuid>& jobs, F&& f) {
  int count = 0;
  for (const base::Uuid& id : jobs) {
    auto row = find_job(db, id);
    if (!row) continue;
    f(*row);
    ++count;
  }
  return count;
}

}  // namespace millrace::storage
