#pragma once
#include <functional>
#include <string>

#include "platform/base/clock.h"
#include "storage/sqlite/database.h"
#include "storage/sqlite/sync_failure.h"
#include "storage/writer/fair_write_lock.h"
#include "storage/writer/last_commit.h"
#include "storage/writer/write_gate.h"

namespace millrace::storage {

// The gate of a store on SQLite: the fair write lock of DATA/locks. It records each group's place in the
// write-ahead log, and ends the process if a sync has failed in another one.
class FileWriteGate final : public WriteGate {
 public:
  struct Files {
    FairWriteLock& lock;
    const FailureFlag& failure;
    LastCommit& last_commit;
  };
  // `group_done` gets the number of pages in the write-ahead log.
  FileWriteGate(std::string database, const SqliteDb& db, Files files, const base::Clock& clock,
                std::function<void(int)> group_done);

  bool acquire() override { return files_.lock.acquire(); }
  void release() override;
  void group_done() override { group_done_(db_.log_frames()); }
  void interrupt() override { files_.lock.interrupt(); }
  std::string failure_cause(const DbError& e) const override;

 private:
  const std::string database_;
  const SqliteDb& db_;
  const Files files_;
  const base::Clock& clock_;
  const std::function<void(int)> group_done_;
};

}  // namespace millrace::storage
