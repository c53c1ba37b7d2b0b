#pragma once
#include <string>
#include <string_view>

#include "storage/job_rows.h"
#include "storage/writer.h"

// Inside storage: the history of root jobs, and what the commit reports about them.
namespace millrace::storage {

// Appends the event of a transition and adds the change to the commit. The event has the version that the
// transition's UPDATE gave the row (`version = version + (parent_id IS NULL)`). `row` is the row after the
// transition except for its version, which this function increments. Children have no history: nothing
// happens for them.
void record(Tx& tx, JobRow& row, std::string_view type, std::string_view data = "{}");
// Only adds the change to the commit (for a new job, whose first event is the row itself).
void tell(Tx& tx, const JobRow& row);

// Stores the first event of a new job that waits for its machine. This is the only version 1 that is stored.
void record_waking(Tx& tx, const JobRow& row);

// The error as JSON for `data`.
std::string error_data(const schemas::JobError& error);

}  // namespace millrace::storage
