#include "storage/sqlite/file_write_gate.h"

#include <utility>

#include "storage/sqlite/errors.h"

namespace millrace::storage {

FileWriteGate::FileWriteGate(std::string database, const SqliteDb& db, Files files, const base::Clock& clock,
                             std::function<void(int)> group_done)
    : database_(std::move(database)),
      db_(db),
      files_(files),
      clock_(clock),
      group_done_(std::move(group_done)) {}

void FileWriteGate::release() {
  files_.failure.end_if_set();  // do not report success after a sync failed in another process
  files_.last_commit.record(db_, clock_.wall());
  files_.lock.release();
}

std::string FileWriteGate::failure_cause(const DbError& e) const {
  return storage::failure_cause(database_, e);
}

}  // namespace millrace::storage
