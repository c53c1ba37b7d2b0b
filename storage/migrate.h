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
  std::chrono::milliseconds wait;        // for whoever changes the schema
  std::int64_t disk_free_min_bytes = 0;  // what the backup has to leave free
};

// Brings the database to the last of `steps` and returns with `lock` shared. Before the first step a backup
// is written (schema_backup.h); killed at any moment, the next call begins it anew or goes on after the last
// whole step. Any number of processes may do this at once, on an empty volume too: one migrates, the others
// see that nothing is due any more (delivery.md). Refuses a database that is newer than `steps`, and names
// the holders if someone keeps an older schema open.
base::Status migrate(const std::string& database, SchemaLock& lock, std::span<const Migration> steps,
                     MigrationBounds bounds);

}  // namespace millrace::storage
