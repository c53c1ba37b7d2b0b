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

// One log line, then exit(1): the outcome of a COMMIT is unknown, and only a new process may find out.
[[noreturn]] void die_of_commit(const SqliteError& e);
// The same where a part of the log is not in the database, and SQLite takes it for copied.
[[noreturn]] void die_of_copy(const SqliteError& e);

}  // namespace millrace::storage
