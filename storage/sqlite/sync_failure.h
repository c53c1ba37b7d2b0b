#pragma once
#include <memory>
#include <string>

#include "platform/base/fd.h"
#include "platform/base/result.h"

namespace millrace::storage {

// The file DATA/locks/failure. With it one process notifies all others of the store that a sync failed (ADR
// 39). It is read and written through the page cache, which works even while the disk does not. Thread-safe.
class FailureFlag {
 public:
  // Creates the file if it is missing. exit_after_sync_failure finds the flag by `database`. Several flags of
  // one process may name the same database.
  static base::Result<std::unique_ptr<FailureFlag>> open(const std::string& folder, std::string database);
  ~FailureFlag();
  FailureFlag(const FailureFlag&) = delete;
  FailureFlag& operator=(const FailureFlag&) = delete;

  // Who set it and why: "pid 12, host db1: DATA/millrace.db-wal: Input/output error". Empty: not set.
  std::string reason() const;
  bool is_set() const { return !reason().empty(); }
  // REQUIRES: no other process has the store open (SchemaLock::try_exclude).
  void clear();
  // Ends this process if the flag is set, with one log line and exit code 1.
  void end_if_set() const;

  // Sets the flag of each store that is open in this process and whose database or log is `file`.
  static void set_for_file(const std::string& file, const std::string& error);

 private:
  FailureFlag(std::string database, base::Fd file);

  const std::string database_;
  const base::Fd file_;
};

// Syncs a file and drops its cached pages, so that the next read comes from the disk. After a failed sync,
// the cache may hold pages that were never written (ADR 39). Does nothing if the file does not exist.
// REQUIRES: no process has the file open through SQLite, including this one, because closing the file here
// would release SQLite's locks. kInternal: the file cannot be opened or synced; the message says what to do.
// Blocks.
base::Status drop_cached_pages(const std::string& file);

}  // namespace millrace::storage
