#pragma once
#include <cstdint>
#include <string>

#include "platform/base/result.h"
#include "storage/sqlite.h"

// Inside storage: a copy of the database in a file of its own (delivery.md: by SQLite's backup API).
namespace millrace::storage {

// What a copy of it takes at most, the log's part included.
std::int64_t copy_bytes(Db& db);

// Copies the database as it is at one moment: `target` (0600) is there when all of it is on disk. What a
// crash leaves is `target`.new, which the next copy replaces. Others may read and write meanwhile; the log
// grows until the end. REQUIRES: no transaction is open on `db`. Blocks. Throws SqliteError.
void copy_database(Db& db, const std::string& target);

}  // namespace millrace::storage
