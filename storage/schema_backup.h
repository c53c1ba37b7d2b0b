#pragma once
#include <cstdint>
#include <string>

#include "platform/base/result.h"
#include "storage/sqlite.h"

// Inside storage: what is kept of a database before its schema changes.
namespace millrace::storage {

// DATA/backups/millrace-v<schema>.db: the newest one of each schema.
std::string schema_backup(const std::string& database, int schema);

// Makes it, if there is anything to keep (schema 0 is an empty file). Refuses where the copy would leave less
// than `disk_free_min_bytes`; the message names both and what to do. REQUIRES: nobody else has the database
// open. Throws SqliteError.
base::Status back_up_schema(Db& db, const std::string& database, int schema,
                            std::int64_t disk_free_min_bytes);

// The newest backup of a schema up to `newest`, empty: there is none.
std::string newest_schema_backup(const std::string& database, int newest);

}  // namespace millrace::storage
