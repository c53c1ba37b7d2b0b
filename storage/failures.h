#pragma once
#include <chrono>
#include <string>

#include "platform/base/result.h"
#include "storage/sqlite.h"

namespace millrace::storage {

// kOverloaded with the time after which the caller may retry.
base::Error overloaded(std::string why, std::chrono::milliseconds retry_after);
base::Error no_such_job();  // kNotFound

// Converts a SQLite error to an error for callers. Every error except a full disk and a busy database is
// logged with its text and returned as kInternal.
base::Error store_error(const SqliteError& e);

// Each of these functions writes one log line and ends the process with exit code 1.
//
// The outcome of a COMMIT is unknown; only a new process can find out.
[[noreturn]] void die_of_commit(const SqliteError& e);
// The database or its log could not be synced. From then on the kernel treats the unwritten pages as written,
// so what is read back may not be on the disk. Ends every process of the store (FailureFlag). The next start
// reads the files from the disk again. `error` is errno.
[[noreturn]] void die_of_sync(const char* file, int error);
// A sync failed in another process of the store. `reason` comes from FailureFlag::reason.
[[noreturn]] void die_of_other(const std::string& reason);

}  // namespace millrace::storage
