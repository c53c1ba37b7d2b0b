#pragma once
#include <chrono>
#include <cstdint>
#include <span>
#include <string>

#include "platform/base/result.h"
#include "storage/db/migration.h"
#include "storage/writer/lock_file.h"

namespace millrace::storage {

// The files storage/migrations/NNNN_name.sql in order, embedded by cmake/migrations.cmake. `number` is the
// `user_version` of a database after the step. They are numbered
// 1, 2, 3, … without gaps. A released file never changes; a schema change is a new file.
std::span<const Migration> migrations();

// flock on DATA/locks/schema.lock. Every process holds it shared while it has the store open, and exclusively
// while it changes the schema. Waits by polling every few milliseconds; this happens only at start-up, where
// fairness does not matter.
class SchemaLock {
 public:
  explicit SchemaLock(LockFile file) : file_(std::move(file)) {}

  bool share(std::chrono::milliseconds wait);
  bool try_share() { return file_.try_lock(LockFile::Mode::kShared); }
  bool try_exclude();
  void release() { file_.unlock(); }
  // The processes that hold it, as text for error messages.
  std::string holders() const;

 private:
  LockFile file_;
};

// Sleeps a few milliseconds with jitter, so that two processes do not poll in step.
void sleep_before_retry();

struct MigrationBounds {
  std::chrono::milliseconds wait;        // how long to wait for another process that changes the schema
  std::int64_t disk_free_min_bytes = 0;  // disk space that the backup must leave free
};

// Migrates the database to the last of `steps` and returns with `lock` shared. A backup is written before the
// first step (schema_backup). If it is killed at any moment, the next call starts the backup again or
// continues after the last complete step. Any number of processes may call this at once, also on an empty
// volume: one migrates, and the others then find nothing to do (docs/design/delivery.md §4). Refuses a
// database whose schema is newer than `steps`. If other processes keep an older schema open, the error names
// them.
base::Status migrate(const std::string& database, SchemaLock& lock, std::span<const Migration> steps,
                     MigrationBounds bounds);

}  // namespace millrace::storage
