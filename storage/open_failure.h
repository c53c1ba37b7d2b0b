#pragma once
#include <string>
#include <string_view>

#include "platform/base/result.h"
#include "storage/sqlite.h"

// Inside storage: errors of opening a data directory. Each message says what is wrong and what to do.
namespace millrace::storage {

inline constexpr std::string_view kRestoreBackup =
    "restore a backup (docs/operations.md, The data directory)";

// The text for a failed system call on a file of the data directory. `error` is errno.
std::string system_failure(int error);

// The error for a database file, its log or the log's index that cannot be opened. Looks at these files and
// at the disk; opens nothing.
base::Error cannot_open(const std::string& database, const SqliteError& e);

}  // namespace millrace::storage
