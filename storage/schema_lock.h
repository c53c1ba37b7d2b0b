#pragma once
#include <chrono>
#include <string>

#include "platform/base/result.h"
#include "storage/lock_file.h"

namespace millrace::storage {

// flock on DATA/locks/schema.lock: shared by every process as long as it has the store open, exclusive for
// whoever changes the schema. Waits by asking again every few milliseconds: only at start, where fairness
// does not matter.
class SchemaLock {
 public:
  explicit SchemaLock(LockFile file) : file_(std::move(file)) {}

  bool share(std::chrono::milliseconds wait);
  bool try_share() { return file_.try_lock(LockFile::Mode::kShared); }
  bool try_exclude();
  void release() { file_.unlock(); }
  // Who has it, for people.
  std::string holders() const;

 private:
  LockFile file_;
};

// Between two questions: some milliseconds with jitter, so that two processes do not ask in step.
void pause_before_asking_again();

}  // namespace millrace::storage
