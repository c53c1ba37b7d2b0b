#pragma once
#include <string>
#include <string_view>

#include "platform/base/result.h"
#include "storage/sqlite.h"

// Inside storage: why a data directory cannot be opened, each cause as "what is so; what to do about it".
namespace millrace::storage {

inline constexpr std::string_view kRestoreBackup =
    "restore a backup (docs/operations.md, The data directory)";

// Of a system call on something in it. `error`: errno.
std::string system_failure(int error);

// Of the database's file, its log or the log's index. Looks at them and at the disk, opens nothing.
base::Error cannot_open(const std::string& database, const SqliteError& e);

}  // namespace millrace::storage
