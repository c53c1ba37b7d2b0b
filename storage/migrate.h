#pragma once
#include <chrono>
#include <cstdint>
#include <span>
#include <string>

#include "platform/base/result.h"
#include "storage/migrations.h"
#include "storage/schema_lock.h"

namespace millrace::storage {

struct MigrationBounds {
  std::chrono::milliseconds wait;        // how long to wait for another process that changes the schema
  std::int64_t disk_free_min_bytes = 0;  // disk space that the backup must leave free
};

// Migrates the database to the last of `steps` and returns with `lock` shared. A backup is written before the
// first step (schema_backup). If it is killed at any moment, the next call starts the backup again or
// continues after the last complete step. Any number of processes may call this at once, also on an empty
// volume: one migrates, and the others then find nothing to do (docs/design/delivery.md). Refuses a database
// whose schema is newer than `steps`. If other processes keep an older schema open, the error names them.
base::Status migrate(const std::string& database, SchemaLock& lock, std::span<const Migration> steps,
                     MigrationBounds bounds);

}  // namespace millrace::storage
