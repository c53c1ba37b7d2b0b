#pragma once
#include <string>
#include <string_view>

#include "storage/job_rows.h"
#include "storage/writer.h"

// Inside storage: the history of root jobs, and what the commit says of them.
namespace millrace::storage {

// Appends the event that a move has just caused, as the version that the move's own UPDATE gave the row
// (`version = version + (parent_id IS NULL)`), and tells the commit. `row` is the row after the move except
// for its version, which this raises. Children have no history: nothing happens.
void record(Tx& tx, JobRow& row, std::string_view type, std::string_view data = "{}");
// Only tells the commit (a new job: its event is the row itself).
void tell(Tx& tx, const JobRow& row);

// The first event of a new job that waits for its machine: the only version 1 that is stored.
void record_waking(Tx& tx, const JobRow& row);

// JSON for `data`.
std::string error_data(const schemas::JobError& error);

}  // namespace millrace::storage
