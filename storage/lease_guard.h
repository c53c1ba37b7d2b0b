#pragma once
#include <optional>

#include "storage/job_outcomes.h"
#include "storage/job_rows.h"

// Inside storage: which worker may write to a job (docs/design/delivery.md, rule 6).
namespace millrace::storage {

// The row, if the lease belongs to the running attempt; otherwise the reason why not.
struct Held {
  std::optional<JobRow> row;
  Applied refusal = Applied::kLeaseLost;
};

// `target_status` is the terminal status that the caller is about to write. If the same lease has already
// ended the job, the result is kRepeated, or kCancelled if a cancel request won. Absent: only the running
// attempt is accepted.
Held hold(Db& db, const Lease& lease, std::optional<schemas::JobStatus> meant = std::nullopt);

// The row that holds the parts and the progress of a leased job: the job's own row or its parent's. Absent:
// the parent has ended.
std::optional<JobRow> open_root(Db& db, const JobRow& held);

}  // namespace millrace::storage
