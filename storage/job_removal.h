#pragma once
#include "storage/job_rows.h"
#include "storage/writer.h"

// Inside storage: deletion of a job's rows, by retention or on request of its owner.
namespace millrace::storage {

// Deletes a terminal root job without open children and all rows that belong to it, at most `budget` rows:
// first the children, then events that carry output, and the job itself last. Returns the number of rows
// deleted. Its Idempotency-Key may be kept longer.
int erase_job(Tx& tx, const JobRow& row, int budget);

}  // namespace millrace::storage
