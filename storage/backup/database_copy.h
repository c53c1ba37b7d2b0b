#pragma once
#include <cstdint>
#include <string>

#include "platform/base/result.h"
#include "storage/sqlite/database.h"

// Inside storage: a copy of the database in its own file, made with SQLite's backup API.
namespace millrace::storage {

// The maximum size of a copy, including the pages in the log.
std::int64_t copy_bytes(SqliteDb& db);

// Copies a snapshot of the database. `target` (0600) appears only when it is complete and synced. A crash
// leaves `target`.new, which the next copy replaces. Other processes may read and write meanwhile; the log
// grows until the end. REQUIRES: no transaction is open on `db`. Blocks. Throws DbError.
void copy_database(SqliteDb& db, const std::string& target);

// Inside storage: backups of a database before its schema changes.

// The path DATA/backups/millrace-v<schema>.db; one backup per schema version, the newest.
std::string schema_backup(const std::string& database, int schema);

// Writes the backup, unless the schema is 0 (an empty file). Refuses if the copy would leave less than
// `disk_free_min_bytes` free; the message names both sizes and what to do. REQUIRES: no other process has the
// database open. Throws DbError.
base::Status back_up_schema(SqliteDb& db, const std::string& database, int schema,
                            std::int64_t disk_free_min_bytes);

// The backup with the highest schema version that is at most `newest`; empty if there is none.
std::string newest_schema_backup(const std::string& database, int newest);

}  // namespace millrace::storage
