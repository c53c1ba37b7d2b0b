#pragma once
#include <chrono>
#include <string>
#include <string_view>

#include "platform/base/result.h"
#include "storage/db/db.h"

namespace millrace::storage {

// Each of these functions writes one log line and ends the process with exit code 1.
//
// The database or its log could not be synced. From then on the kernel treats the unwritten pages as written,
// so what is read back may not be on the disk. Ends every process of the store (FailureFlag). The next start
// reads the files from the disk again. `error` is errno.
[[noreturn]] void exit_after_sync_failure(const char* file, int error);
// A sync failed in another process of the store. `reason` comes from FailureFlag::reason.
[[noreturn]] void exit_after_peer_failure(const std::string& reason);

// Inside storage: errors of opening a data directory. Each message says what is wrong and what to do.

inline constexpr std::string_view kRestoreBackup =
    "restore a backup, without the old millrace.db-wal and millrace.db-shm (docs/operations.md, Backup)";

// The text for a failed system call on a file of the data directory. `error` is errno.
std::string system_failure(int error);

// The same for an error of a later write: which file it is and what to do.
std::string failure_cause(const std::string& database, const DbError& e);

// The error for a database file, its log or the log's index that cannot be opened. Looks at these files and
// at the disk; opens nothing.
base::Error cannot_open(const std::string& database, const DbError& e);

}  // namespace millrace::storage
