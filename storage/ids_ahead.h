#pragma once
#include <chrono>

#include "storage/job_rows.h"
#include "storage/sqlite.h"

// Inside storage: by how much the times in ids are ahead of those of their rows, so that a row's time bounds
// where its id lies. A group takes its time before the last of its jobs come; and ids never step back, while
// the wall clock may. What is past kAheadOfAny is written down, in the row's own transaction: hardly ever.
namespace millrace::storage {

inline constexpr std::chrono::milliseconds kAheadOfAny{1'000};

// For every row that is written.
void note_ahead(Db& db, const JobRow& row);
// Of no row more. It never shrinks.
std::chrono::milliseconds ids_ahead(Db& db);

}  // namespace millrace::storage
