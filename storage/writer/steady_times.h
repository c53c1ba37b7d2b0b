#pragma once
#include <chrono>

#include "platform/base/clock.h"
#include "storage/db/db.h"

namespace millrace::storage {

// Moves the times in steady time that were written at `from` or later back by `by`: ends of retry pauses and
// delays, deadlines and ends of jobs, idempotency rows, the last use of machines, reservations. Reads all
// open jobs in one transaction, so nothing else is written until it ends; this is needed once after a start
// with a wrong clock. Not `published_at`: a token that seems to be of the future is published again.
void move_back_steady_times(Db& db, base::WallTime from, std::chrono::milliseconds by);

}  // namespace millrace::storage
