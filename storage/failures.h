#pragma once
#include <chrono>
#include <string>

#include "platform/base/result.h"
#include "storage/sqlite.h"

namespace millrace::storage {

// kOverloaded; `retry_after` is when to ask again.
base::Error overloaded(std::string why, std::chrono::milliseconds retry_after);
base::Error no_such_job();  // kNotFound

// What SQLite's failures are to the outside. Everything that is not a full disk or a busy database is logged
// with its text and answered as internal.
base::Error store_error(const SqliteError& e);

// Each writes one log line and ends the process with exit code 1.
// The outcome of a COMMIT is unknown: only a new process may find out.
[[noreturn]] void die_of_commit(const SqliteError& e);
// The database or its log could not be synced. The kernel takes the unwritten pages for written from then on:
// what is read back may not be on the disk. Ends every process of the store (failure_flag.h); the next start
// reads the files anew from the disk. `error`: errno.
[[noreturn]] void die_of_sync(const char* file, int error);
// A sync failed in another process of the store; `reason` is FailureFlag's.
[[noreturn]] void die_of_other(const std::string& reason);

}  // namespace millrace::storage
