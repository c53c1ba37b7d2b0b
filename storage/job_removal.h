#pragma once
#include "storage/job_rows.h"
#include "storage/writer.h"

// Inside storage: how a job's rows go, by retention in time or at its owner's wish.
namespace millrace::storage {

// Removes a terminal root job without open children and all that hangs on it, at most `budget` rows: children
// first, then the events of a kind that tells its output by them, the job itself last. Returns how many went.
// Its Idempotency-Key may outlive it.
int erase_job(Tx& tx, const JobRow& row, int budget);

}  // namespace millrace::storage
