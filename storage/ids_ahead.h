#pragma once
#include <chrono>

#include "storage/job_rows.h"
#include "storage/sqlite.h"

// Inside storage: by how much the times in ids can be later than the times of their rows. With this bound, a
// row's time limits where its id can be. An id's time can be later because a group reads the clock before its
// last jobs arrive, and because ids never go back while the wall clock may. A skew above kIdClockSkewMin is
// recorded in the row's own transaction; this is rare.
namespace millrace::storage {

inline constexpr std::chrono::milliseconds kAheadOfAny{1'000};

// Call for every row that is written.
void note_ahead(Db& db, const JobRow& row);
// Upper bound over all rows. It only grows.
std::chrono::milliseconds ids_ahead(Db& db);

}  // namespace millrace::storage
