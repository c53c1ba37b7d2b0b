#pragma once
#include <chrono>
#include <string>

#include "platform/base/result.h"
#include "storage/lock_file.h"

namespace millrace::storage {

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
void pause_before_asking_again();

}  // namespace millrace::storage
