#pragma once
#include <string>

#include "storage/db/db.h"

namespace millrace::storage {

// What surrounds each group of a writer: the turn among the processes of a store, and what is recorded when a
// group has been committed. `acquire` and `release` are called by the commit thread, in turn.
class WriteGate {
 public:
  virtual ~WriteGate() = default;
  // Blocks until this process may write. False: `interrupt` was called, and nothing is held.
  [[nodiscard]] virtual bool acquire() = 0;
  // After a group: records it and lets the next process write.
  virtual void release() = 0;
  // After the outcomes of the group were handed to the completions.
  virtual void group_done() = 0;
  // Ends a waiting `acquire` and every later one. Any thread.
  virtual void interrupt() = 0;
  // What failed and what to do, for the log.
  virtual std::string failure_cause(const DbError& e) const = 0;
};

}  // namespace millrace::storage
