#pragma once
#include <optional>

#include "storage/job_outcomes.h"
#include "storage/job_rows.h"

// Inside storage: who may write about a job (delivery.md, rule 6).
namespace millrace::storage {

// The row, if the lease is the running attempt's; otherwise why not.
struct Held {
  std::optional<JobRow> row;
  Applied refusal = Applied::kLeaseLost;
};

// `meant`: the terminal state that the caller is about to write; the same lease having ended the job before
// is then kRepeated, or kCancelled if a cancel request had won. Absent: only the running attempt counts.
Held hold(Db& db, const Lease& lease, std::optional<schemas::JobStatus> meant = std::nullopt);

// The row that shows the parts and the progress of a held job: its own or its parent's. Absent: the parent
// has ended.
std::optional<JobRow> open_root(Db& db, const JobRow& held);

}  // namespace millrace::storage
