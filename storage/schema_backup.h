#pragma once
#include <cstdint>
#include <string>

#include "platform/base/result.h"
#include "storage/sqlite.h"

// Inside storage: backups of a database before its schema changes.
namespace millrace::storage {

// The path DATA/backups/millrace-v<schema>.db; one backup per schema version, the newest.
std::string schema_backup(const std::string& database, int schema);

// Writes the backup, unless the schema is 0 (an empty file). Refuses if the copy would leave less than
// `disk_free_min_bytes` free; the message names both sizes and what to do. REQUIRES: no other process has the
// database open. Throws SqliteError.
base::Status back_up_schema(Db& db, const std::string& database, int schema,
                            std::int64_t disk_free_min_bytes);

// The backup with the highest schema version that is at most `newest`; empty if there is none.
std::string newest_schema_backup(const std::string& database, int newest);

}  // namespace millrace::storage
